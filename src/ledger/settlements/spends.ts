import { sql } from 'kysely';
import { anyOf, type Database } from '../database.ts';

/** A finalized transaction that a hot wallet signed, as the scan found it. */
export interface ScannedSpend {
  readonly signature: string;
  readonly slot: bigint;
  /** Stored for so long that nodes have had the time to return it. */
  readonly isOverdue: boolean;
}

/** Nodes that lag or restart are back by then. */
const PATIENCE = sql`interval '10 minutes'`;

/** Transactions that hot wallets signed, found by the scan in linked blocks. */
export class Spends {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Oldest first. Spends from before the wallet's history began are never judged. */
  async unjudged(wallet: string, limit: number): Promise<readonly ScannedSpend[]> {
    return this.#db
      .selectFrom('spend')
      .innerJoin('walletHistory', 'walletHistory.wallet', 'spend.wallet')
      .select(['spend.signature', 'spend.slot'])
      .select(sql<boolean>`spend.seen_at < now() - ${PATIENCE}`.as('isOverdue'))
      .where('spend.wallet', '=', wallet)
      .where('spend.judged', '=', false)
      .whereRef('spend.slot', '>', 'walletHistory.fromSlot')
      .orderBy('spend.slot')
      .limit(limit)
      .execute();
  }

  /** Marks spends whose results are stored. */
  async markJudged(wallet: string, signatures: readonly string[]): Promise<void> {
    await this.#db
      .updateTable('spend')
      .set({ judged: true })
      .where('wallet', '=', wallet)
      .where('signature', '=', anyOf(signatures))
      .execute();
  }
}
