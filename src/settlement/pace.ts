import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { DomainError } from '../domain/errors.ts';
import { MOST_UNSENT, mayBegin } from '../domain/pace.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

const LOOK_AGAIN_MS = 250;

/**
 * Lets preparations of one kind begin no faster than what they prepare gets on its way. Else a crowd that the signer and the workers cannot serve
 * within one life of a blockhash would die unsent and be prepared again, all of it, over and over.
 */
export class Pace {
  readonly #ledger: Pick<Ledger, 'traffic'>;
  readonly #chain: Pick<Chain, 'latestBlockhash'>;
  readonly #kind: string;
  readonly #head = pLimit(1);
  #preparing = 0;

  constructor(ledger: Pick<Ledger, 'traffic'>, chain: Pick<Chain, 'latestBlockhash'>, kind: string) {
    this.#ledger = ledger;
    this.#chain = chain;
    this.#kind = kind;
  }

  /** Runs `prepare` when it is its turn, in the order of asking. Throws Unavailable where that does not come by the deadline. */
  async keep<T>(deadlineMs: number, prepare: () => Promise<T>): Promise<T> {
    const end = performance.now() + deadlineMs;
    const unsent = await this.#head(() => this.#room(end));
    if (unsent !== null) throw crowded(unsent);
    try {
      return await prepare();
    } finally {
      this.#preparing -= 1;
    }
  }

  /** Takes a place as soon as there is one; how many are unsent where there is none by then. */
  async #room(end: number): Promise<number | null> {
    for (;;) {
      const { traffic } = this.#ledger;
      const { height } = await this.#chain.latestBlockhash();
      const [{ living, overdue }, ends] = await Promise.all([
        traffic.unsent(this.#kind, height),
        traffic.newestEnds(this.#kind, MOST_UNSENT),
      ]);
      const unsent = { living: living + this.#preparing, overdue };
      if (mayBegin(unsent, ends)) {
        this.#preparing += 1;
        return null;
      }
      if (performance.now() >= end) return unsent.living + overdue;
      await sleep(LOOK_AGAIN_MS);
    }
  }
}

function crowded(unsent: number): DomainError {
  const message = `${unsent} attempts wait to be signed and sent: they go first`;
  return new DomainError('Unavailable', message, { unsent });
}
