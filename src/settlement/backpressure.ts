import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { mayBegin, unsentServed } from '../domain/backpressure.ts';
import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

const LOOK_AGAIN_MS = 250;
const ENDS_LOOKED_AT = 32;
const BLOCK_TIMES_KEPT = 9;
/** Until two heights were seen. */
const MS_PER_BLOCK = 400;

type PaceLedger = {
  readonly traffic: Pick<Ledger['traffic'], 'unsent' | 'newestEnds'>;
  readonly attempts: Pick<Ledger['attempts'], 'signings'>;
};

/**
 * Lets preparations of one kind begin no faster than what they prepare gets on its way. Else a crowd that the signer and the workers cannot serve
 * within one life of a blockhash would die unsent and be prepared again, all of it, over and over.
 */
export class Pace {
  readonly #ledger: PaceLedger;
  readonly #chain: Pick<Chain, 'latestBlockhash'>;
  readonly #kind: string;
  readonly #head = pLimit(1);
  readonly #blocks = new BlockTimes();
  #preparing = 0;
  /** Since when attempts wait for a signature. */
  #waitingSince: number | null = null;

  constructor(ledger: PaceLedger, chain: Pick<Chain, 'latestBlockhash'>, kind: string) {
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
        traffic.newestEnds(this.#kind, ENDS_LOOKED_AT),
      ]);
      const unsent = { living: living + this.#preparing, overdue };
      if (mayBegin(unsent, ends, this.#served(living, height))) {
        this.#preparing += 1;
        return null;
      }
      if (performance.now() >= end) return unsent.living + overdue;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /** How many the signer serves in time, by what this process has seen of it. */
  #served(living: number, height: bigint): number {
    const now = performance.now();
    this.#blocks.see(now, height);
    this.#waitingSince = living === 0 ? null : (this.#waitingSince ?? now);
    const signings = this.#ledger.attempts.signings.measured(this.#kind);
    const since = Math.max(this.#waitingSince ?? now, signings?.lastAt ?? 0);
    return unsentServed(signings, this.#blocks.msPerBlock, now - since);
  }
}

/** How long a block takes: the median of the newest steps, so that one look after a long silence does not count. */
class BlockTimes {
  #last: { readonly at: number; readonly height: bigint } | null = null;
  #steps: readonly number[] = [];

  see(at: number, height: bigint): void {
    const last = this.#last;
    if (last !== null && height <= last.height) return;
    if (last !== null)
      this.#steps = [...this.#steps, (at - last.at) / Number(height - last.height)].slice(-BLOCK_TIMES_KEPT);
    this.#last = { at, height };
  }

  get msPerBlock(): number {
    const sorted = this.#steps.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? MS_PER_BLOCK;
  }
}

function crowded(unsent: number): DomainError {
  const message = `${unsent} attempts wait to be signed and sent: they go first`;
  return new DomainError('Unavailable', message, { unsent });
}
