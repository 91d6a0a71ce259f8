import type { StatusReason } from '../domain/settlement.ts';
import type { Settlements } from '../ledger/settlements/settlements.ts';
import { TtlCache } from '../solana/rpc/ttl-cache.ts';

/** One question to the record serves all watches of this process for so long: as often as bytes are sent again. */
const SHARED_MS = 2_000;

/** Tells the watches of a process which of their settlements a dead attempt turns out to have paid while they wait. */
export class PaidMeanwhile {
  readonly #record: Pick<Settlements, 'paidByDead'>;
  readonly #watched = new Map<symbol, string>();
  readonly #asked = new TtlCache<ReadonlyMap<string, StatusReason>>(SHARED_MS, 1);
  #known: ReadonlyMap<string, StatusReason> = new Map();

  constructor(record: Pick<Settlements, 'paidByDead'>) {
    this.#record = record;
  }

  /** Asks for this settlement, too, until `wait` has ended. */
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
   * The reason that holds a settlement which a dead attempt has paid, else null, as it was two seconds ago or later. Never rejects:
   * while the record cannot be asked, what it last told holds.
   */
  async reasonFor(id: string): Promise<StatusReason | null> {
    const ask = () => this.#record.paidByDead([...this.#watched.values()]);
    this.#known = await this.#asked.get('', ask).catch(() => this.#known);
    return this.#known.get(id) ?? null;
  }
}
