import { sql } from 'kysely';
import { anyOf, type Database } from '../database.ts';

/** A finalized transaction that a hot wallet signed, as the scan saw it. */
export interface ScannedSpend {
  readonly signature: string;
  readonly slot: bigint;
  /** On record for so long that nodes had the time to show it. */
  readonly isOverdue: boolean;
}

/** Nodes that lag, or are being restarted, are back by then. */
const PATIENCE = sql`interval '10 minutes'`;

/** What the scan saw the hot wallets sign, block by linked block. */
export class Spends {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Those of the wallet that nobody has judged, the oldest first; what was before its history began is not ours to judge. */
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

  /** They are judged, and what they mean is on record. */
  async markJudged(wallet: string, signatures: readonly string[]): Promise<void> {
    await this.#db
      .updateTable('spend')
      .set({ judged: true })
      .where('wallet', '=', wallet)
      .where('signature', '=', anyOf(signatures))
      .execute();
  }
}
