import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { mayBeginAttempt, signerCapacityOf } from '../domain/backpressure.ts';
import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

const LOOK_AGAIN_MS = 250;
const ENDS_LOOKED_AT = 32;
const BLOCK_TIMES_KEPT = 9;
/** Default until two heights were read. */
const MS_PER_BLOCK = 400;

type PaceLedger = {
  readonly traffic: Pick<Ledger['traffic'], 'unsent' | 'newestEnds'>;
  readonly attempts: Pick<Ledger['attempts'], 'signings'>;
};

/**
 * Backpressure for one kind: prepares no faster than attempts are sent. Otherwise attempts expire before they
 * are sent, and are prepared again without end.
 */
export class Backpressure {
  readonly #ledger: PaceLedger;
  readonly #chain: Pick<Chain, 'latestBlockhash'>;
  readonly #kind: string;
  readonly #head = pLimit(1);
  readonly #blocks = new BlockTimes();
  #preparing = 0;
  /** Time since which attempts wait for a signature, from `performance.now()`. */
  #waitingSince: number | null = null;

  constructor(ledger: PaceLedger, chain: Pick<Chain, 'latestBlockhash'>, kind: string) {
    this.#ledger = ledger;
    this.#chain = chain;
    this.#kind = kind;
  }

  /** Runs `prepare` in the order of the calls. Throws Unavailable if there is no capacity before the deadline. */
  async keep<T>(deadlineMs: number, prepare: () => Promise<T>): Promise<T> {
    const end = performance.now() + deadlineMs;
    const unsent = await this.#head(() => this.#room(end));
    if (unsent !== null) throw tooManyUnsent(unsent);
    try {
      return await prepare();
    } finally {
      this.#preparing -= 1;
    }
  }

  /** Takes capacity for one preparation and returns null. At `end` returns the number of unsent attempts instead. */
  async #room(end: number): Promise<number | null> {
    for (;;) {
      const { traffic } = this.#ledger;
      const { height } = await this.#chain.latestBlockhash();
      const [{ living, overdue }, ends] = await Promise.all([
        traffic.unsent(this.#kind, height),
        traffic.newestEnds(this.#kind, ENDS_LOOKED_AT),
      ]);
      const unsent = { living: living + this.#preparing, overdue };
      if (mayBeginAttempt(unsent, ends, this.#served(living, height))) {
        this.#preparing += 1;
        return null;
      }
      if (performance.now() >= end) return unsent.living + overdue;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  /** Number of attempts that the signer can serve in time, as measured by this process. */
  #served(living: number, height: bigint): number {
    const now = performance.now();
    this.#blocks.see(now, height);
    this.#waitingSince = living === 0 ? null : (this.#waitingSince ?? now);
    const signings = this.#ledger.attempts.signings.measured(this.#kind);
    const since = Math.max(this.#waitingSince ?? now, signings?.lastAt ?? 0);
    return signerCapacityOf(signings, this.#blocks.msPerBlock, now - since);
  }
}

/** Median time between blocks, so that one read after a long silence has no effect. */
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

function tooManyUnsent(unsent: number): DomainError {
  const message = `${unsent} attempts wait to be signed and sent: they go first`;
  return new DomainError('Unavailable', message, { unsent });
}
