import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { mayBeginAttempt, signerCapacityOf } from '../domain/backpressure.ts';
import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Chain } from '../solana/chain.ts';

const RECHECK_MS = 250;
const MAX_ENDS_READ = 32;
const MAX_BLOCK_TIMES = 9;
/** Used until two block heights were read. */
const DEFAULT_MS_PER_BLOCK = 400;

type BackpressureLedger = {
  readonly inFlight: Pick<Ledger['inFlight'], 'countUnsent' | 'newestEnds'>;
  readonly attempts: Pick<Ledger['attempts'], 'signings'>;
};

/**
 * Backpressure for one kind: attempts are prepared no faster than they are sent. Otherwise they would expire before
 * they are sent, and be prepared again without end.
 */
export class Backpressure {
  readonly #ledger: BackpressureLedger;
  readonly #chain: Pick<Chain, 'latestBlockhash'>;
  readonly #kind: string;
  readonly #queue = pLimit(1);
  readonly #blocks = new BlockTimes();
  #preparing = 0;
  /** Since when attempts have waited for a signature, on the clock of `performance.now()`; null if none waits. */
  #waitingSince: number | null = null;

  constructor(ledger: BackpressureLedger, chain: Pick<Chain, 'latestBlockhash'>, kind: string) {
    this.#ledger = ledger;
    this.#chain = chain;
    this.#kind = kind;
  }

  /**
   * Runs `prepare` when there is capacity, in the order of the calls. Throws Unavailable if there is none before the
   * deadline.
   */
  async run<T>(deadlineMs: number, prepare: () => Promise<T>): Promise<T> {
    const end = performance.now() + deadlineMs;
    const unsent = await this.#queue(() => this.#takeCapacity(end));
    if (unsent !== null) throw tooManyUnsent(unsent);
    try {
      return await prepare();
    } finally {
      this.#preparing -= 1;
    }
  }

  /**
   * Takes capacity for one preparation and returns null. Returns the number of unsent attempts if there is none at
   * `end`.
   */
  async #takeCapacity(end: number): Promise<number | null> {
    for (;;) {
      const { inFlight } = this.#ledger;
      const { height } = await this.#chain.latestBlockhash();
      const [{ living, overdue }, ends] = await Promise.all([
        inFlight.countUnsent(this.#kind, height),
        inFlight.newestEnds(this.#kind, MAX_ENDS_READ),
      ]);
      const unsent = { living: living + this.#preparing, overdue };
      if (mayBeginAttempt(unsent, ends, this.#signerCapacity(living, height))) {
        this.#preparing += 1;
        return null;
      }
      if (performance.now() >= end) return unsent.living + overdue;
      await sleep(RECHECK_MS);
    }
  }

  /** Number of attempts that the signer can sign in time, as measured by this process. */
  #signerCapacity(living: number, height: bigint): number {
    const now = performance.now();
    this.#blocks.add(now, height);
    this.#waitingSince = living === 0 ? null : (this.#waitingSince ?? now);
    const signings = this.#ledger.attempts.signings.measured(this.#kind);
    const since = Math.max(this.#waitingSince ?? now, signings?.lastAt ?? 0);
    return signerCapacityOf(signings, this.#blocks.msPerBlock, now - since);
  }
}

/** Median time between blocks, so that a single late reading has no effect. */
class BlockTimes {
  #last: { readonly at: number; readonly height: bigint } | null = null;
  #steps: readonly number[] = [];

  add(at: number, height: bigint): void {
    const last = this.#last;
    if (last !== null && height <= last.height) return;
    if (last !== null)
      this.#steps = [...this.#steps, (at - last.at) / Number(height - last.height)].slice(-MAX_BLOCK_TIMES);
    this.#last = { at, height };
  }

  get msPerBlock(): number {
    const sorted = this.#steps.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? DEFAULT_MS_PER_BLOCK;
  }
}

function tooManyUnsent(unsent: number): DomainError {
  const message = `${unsent} attempts wait to be signed and sent: no other attempt is prepared before some of them are sent`;
  return new DomainError('Unavailable', message, { unsent });
}
