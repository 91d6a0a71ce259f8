/** How much a node is asked: at most so many requests at once, and so many that start within any second. */
export interface GateOptions {
  readonly concurrency: number;
  readonly perSecond: number;
}

/** Sends are repeated until a landing is known, and may take no more than half of a node: the questions that end them need the rest. */
export type Lane = 'question' | 'send';

const SECOND_MS = 1_000;

/**
 * Keeps the requests to one node within its limits; the others wait for their turn, in each lane in the order in which they came.
 * It looks at no clock: one that is set back must not hold up the proofs of a payment.
 */
export class Gate {
  readonly #whole: Room;
  readonly #lanes: Readonly<Record<Lane, WaitingRoom>>;
  readonly #limitsStarts: boolean;
  #arrivals = 0;

  constructor({ concurrency, perSecond }: GateOptions) {
    this.#whole = new Room({ concurrency, perSecond });
    this.#lanes = {
      question: new WaitingRoom({ concurrency, perSecond }),
      send: new WaitingRoom({ concurrency: halfOf(concurrency), perSecond: halfOf(perSecond) }),
    };
    this.#limitsStarts = Number.isFinite(perSecond);
  }

  /** Runs `request` when it is its turn. Rejects with the signal's reason when that is aborted before, and then never runs it. */
  pass<T>(signal: AbortSignal, request: () => Promise<T>, lane: Lane = 'question'): Promise<T> {
    return new Promise((resolve, reject) => {
      const { waiting } = this.#lanes[lane];
      const start = async (): Promise<void> => {
        try {
          resolve(await request());
        } catch (error) {
          reject(error as Error);
        }
        signal.removeEventListener('abort', abort);
      };
      const turn = { arrival: this.#arrivals++, start };
      const abort = (): void => {
        waiting.delete(turn);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      waiting.add(turn);
      this.#advance();
    });
  }

  #advance(): void {
    const lanes = Object.values(this.#lanes);
    while (this.#whole.isFree) {
      const [next] = lanes
        .flatMap((lane) => lane.next ?? [])
        .toSorted((one, other) => one.arrival - other.arrival);
      const lane = lanes.find(({ waiting }) => next !== undefined && waiting.delete(next));
      if (next === undefined || lane === undefined) return;
      this.#start(next, [this.#whole, lane]);
    }
  }

  #start(turn: Turn, rooms: readonly Room[]): void {
    for (const room of rooms) room.enter();
    const free = (leave: (room: Room) => void): void => {
      rooms.forEach(leave);
      this.#advance();
    };
    // No second sees more starts than allowed: one counts for a second after it.
    if (this.#limitsStarts) setTimeout(() => free((room) => room.forget()), SECOND_MS);
    void turn.start().finally(() => free((room) => room.leave()));
  }
}

/** A request that waits. */
interface Turn {
  readonly arrival: number;
  start(): Promise<void>;
}

/** How many requests are on their way, and how many started within the last second. */
class Room {
  readonly #limits: GateOptions;
  #inside = 0;
  #started = 0;

  constructor(limits: GateOptions) {
    this.#limits = limits;
  }

  get isFree(): boolean {
    return this.#inside < this.#limits.concurrency && this.#started < this.#limits.perSecond;
  }

  enter(): void {
    this.#inside += 1;
    this.#started += 1;
  }

  leave(): void {
    this.#inside -= 1;
  }

  forget(): void {
    this.#started -= 1;
  }
}

/** {@link Room} with a queue. */
class WaitingRoom extends Room {
  readonly waiting = new Set<Turn>();

  /** The first that waits, where there is room for it. */
  get next(): Turn | undefined {
    return this.isFree ? this.waiting.values().next().value : undefined;
  }
}

function halfOf(limit: number): number {
  return Math.max(1, Math.floor(limit / 2));
}
