import type { StatusReason } from '../domain/settlement.ts';
import type { Settlements } from '../ledger/settlements/settlements.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';

/** Milliseconds for which all watches of this process share one query. Equals the interval of resending. */
const SHARED_MS = 2_000;

/** Tells the watches of this process if a dead attempt has paid their settlement. */
export class PaidMeanwhile {
  readonly #record: Pick<Settlements, 'paidByDead'>;
  readonly #watched = new Map<symbol, string>();
  readonly #asked = new TtlCache<ReadonlyMap<string, StatusReason>>(SHARED_MS, 1);
  #known: ReadonlyMap<string, StatusReason> = new Map();

  constructor(record: Pick<Settlements, 'paidByDead'>) {
    this.#record = record;
  }

  /** Includes the settlement in the shared query until `wait` has ended. */
  async during<T>(id: string, wait: () => Promise<T>): Promise<T> {
    const key = Symbol(id);
    this.#watched.set(key, id);
    try {
      return await wait();
    } finally {
      this.#watched.delete(key);
    }
  }

  /**
   * Why a settlement paid by a dead attempt is held, or null; at most two seconds old. Never rejects: without
   * PostgreSQL the last result counts.
   */
  async reasonFor(id: string): Promise<StatusReason | null> {
    const ask = () => this.#record.paidByDead([...this.#watched.values()]);
    this.#known = await this.#asked.get('', ask).catch(() => this.#known);
    return this.#known.get(id) ?? null;
  }
}
