import pLimit, { type LimitFunction } from 'p-limit';
import { messageOf } from '../../domain/errors.ts';

/** How much a node is asked: at most so many requests at once, and so many that start within any second. */
export interface GateOptions {
  readonly concurrency: number;
  readonly perSecond: number;
}

/** Sends are repeated until a landing is known, and may take no more than half of a node: the questions that end them need the rest. */
export type Lane = 'question' | 'send';

const SECOND_MS = 1_000;

/** Our own limits kept a request back for so long that it was given up: nobody was asked. */
export class TurnMissed extends Error {
  override readonly name = 'TurnMissed';

  constructor(cause: unknown) {
    super(`was not asked: too much else waits within its limits (${messageOf(cause)})`, { cause });
  }
}

/** Keeps the requests to one node within its limits; the others wait for their turn. */
export class Gate {
  readonly #node: Room;
  readonly #sends: Room;

  constructor({ concurrency, perSecond }: GateOptions) {
    this.#node = new Room({ concurrency, perSecond });
    this.#sends = new Room({ concurrency: halfOf(concurrency), perSecond: halfOf(perSecond) });
  }

  /** Runs `request` when it is its turn. Throws {@link TurnMissed} when the signal is aborted before, and then never runs it. */
  pass<T>(signal: AbortSignal, request: () => Promise<T>, lane: Lane = 'question'): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(new TurnMissed(signal.reason));
      signal.addEventListener('abort', abort, { once: true });
      const begin = (): Promise<T> => {
        signal.removeEventListener('abort', abort);
        return request();
      };
      const enter = () => this.#node.enter(signal, begin);
      const turn = lane === 'send' ? this.#sends.enter(signal, enter) : enter();
      void turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }
}

/** Lets in whoever comes first. It looks at no clock: one that is set back must not hold up the proofs of a payment. */
class Room {
  readonly #atOnce: LimitFunction;
  readonly #tickets: LimitFunction | null;

  constructor({ concurrency, perSecond }: GateOptions) {
    this.#atOnce = pLimit(concurrency);
    this.#tickets = Number.isFinite(perSecond) ? pLimit(perSecond) : null;
  }

  enter<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    return this.#atOnce(async () => {
      if (signal.aborted) throw new TurnMissed(signal.reason);
      await this.#ticket(signal);
      if (signal.aborted) throw new TurnMissed(signal.reason);
      return run();
    });
  }

  // A ticket is free again a second after it was taken, so no second sees more starts than there are; what was given up takes none.
  #ticket(signal: AbortSignal): Promise<void> {
    const tickets = this.#tickets;
    if (tickets === null) return Promise.resolve();
    return new Promise((taken) => {
      void tickets(async () => {
        taken();
        if (!signal.aborted) await new Promise((free) => setTimeout(free, SECOND_MS));
      });
    });
  }
}

function halfOf(limit: number): number {
  return Math.max(1, Math.floor(limit / 2));
}
