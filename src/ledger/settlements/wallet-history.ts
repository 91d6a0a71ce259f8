import { sql } from 'kysely';
import type { WatchKind } from '../../domain/deposit.ts';
import { anyOf, Repository, type RowOf } from '../database.ts';
import type { AttemptRow } from './attempt-row.ts';

/** Stored attempt of a transaction that one of our wallets may have signed. */
export interface RecordedSpend extends Pick<AttemptRow, 'settlementId' | 'n' | 'state' | 'slot' | 'error'> {
  readonly isAdopted: boolean;
}

/** The slot up to which each hot wallet's history is judged, and the stored attempts of its signatures. */
export class WalletHistory extends Repository {
  /** Every hot wallet with a judged history, and `configured`: earlier wallets may still have paid. */
  async wallets(configured: string): Promise<readonly string[]> {
    const rows = await this.db
      .selectFrom('walletHistory')
      .select('wallet')
      .where('wallet', 'not in', (row) => row.selectFrom('feePayer').select('address'))
      .orderBy('wallet')
      .execute();
    return [...new Set([configured, ...rows.map(({ wallet }) => wallet)])];
  }

  /** Stores wallets that only pay fees for others. A worker with their keys calls this before it signs. */
  async addFeePayers(addresses: readonly string[]): Promise<void> {
    await this.db
      .insertInto('feePayer')
      .values(addresses.map((address) => ({ address })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  async feePayers(): Promise<readonly string[]> {
    const rows = await this.db.selectFrom('feePayer').select('address').orderBy('address').execute();
    return rows.map(({ address }) => address);
  }

  /**
   * Kind of an address; undefined if the address is not ours. `hot` includes nonce accounts and every wallet with a
   * judged history, because no customer can own one.
   */
  async kindOf(address: string): Promise<WatchKind | undefined> {
    const hot = sql<WatchKind>`'hot'`.as('kind');
    const history = this.db.selectFrom('walletHistory').select(hot).where('wallet', '=', address);
    const nonce = this.db.selectFrom('nonceAccount').select(hot).where('address', '=', address);
    const watched = this.db.selectFrom('watchedWallet').select('kind').where('address', '=', address);
    return (await history.unionAll(nonce).unionAll(watched).executeTakeFirst())?.kind;
  }

  /**
   * Slot up to which the wallet's history is judged. Without a history, the blockhash slot of its newest attempt, or
   * null.
   */
  async judgedTo(wallet: string): Promise<bigint | null> {
    const row = await this.db
      .selectFrom('walletHistory')
      .select('judgedToSlot')
      .where('wallet', '=', wallet)
      .executeTakeFirst();
    if (row !== undefined) return row.judgedToSlot;
    const newest = await this.db
      .selectFrom('attempt')
      .select((attempt) => attempt.fn.max('blockhashSlot').as('slot'))
      // A wallet whose history is judged pays the fee of each transaction that it signs, so the first signer is
      // enough.
      .where(sql<string>`signers[1]`, '=', wallet)
      .executeTakeFirst();
    return newest?.slot ?? null;
  }

  /** Raises the judged slot, which never decreases. The first call also sets the slot at which the history begins. */
  async advance(wallet: string, slot: bigint): Promise<void> {
    await this.db
      .insertInto('walletHistory')
      .values({ wallet, judgedToSlot: slot, fromSlot: slot })
      .onConflict((conflict) =>
        conflict.column('wallet').doUpdateSet({
          judgedToSlot: sql<bigint>`greatest(wallet_history.judged_to_slot, excluded.judged_to_slot)`,
        }),
      )
      .execute();
  }

  /** Stored attempts with these signatures, by signature. */
  async attemptsBySignature(signatures: readonly string[]): Promise<ReadonlyMap<string, RecordedSpend>> {
    const rows = await this.#spends()
      .select('signature')
      .where('signature', '=', anyOf(signatures))
      .execute();
    return new Map(
      rows.flatMap(({ signature, ...spend }) => (signature === null ? [] : [[signature, spend]])),
    );
  }

  /** Stored attempt of a message, even if its signature was never stored; null if there is none. */
  async attemptOfMessage(messageHash: string): Promise<RecordedSpend | null> {
    const attempt = await this.#spends().where('messageHash', '=', messageHash).executeTakeFirst();
    return attempt ?? null;
  }

  #spends() {
    return this.db
      .selectFrom('attempt')
      .select(['settlementId', 'n', 'state', 'slot', 'error'])
      .select(sql<boolean>`adopted_from is not null`.as('isAdopted'));
  }
}

/** A finalized transaction that a hot wallet signed, as the scan found it. */
export interface ScannedSpend extends Pick<RowOf<'spend'>, 'signature' | 'slot'> {
  /** True if the spend was stored so long ago that nodes have had time to return it. */
  readonly isOverdue: boolean;
}

/** Longer than nodes usually lag or restart. */
const MAX_NODE_LAG = sql`interval '10 minutes'`;

/** Transactions that hot wallets signed, found by the scan in linked blocks. */
export class Spends extends Repository {
  /** Oldest first. Spends from before the wallet's history began are never judged. */
  async unjudged(wallet: string, limit: number): Promise<readonly ScannedSpend[]> {
    return this.db
      .selectFrom('spend')
      .innerJoin('walletHistory', 'walletHistory.wallet', 'spend.wallet')
      .select(['spend.signature', 'spend.slot'])
      .select(sql<boolean>`spend.seen_at < now() - ${MAX_NODE_LAG}`.as('isOverdue'))
      .where('spend.wallet', '=', wallet)
      .where('spend.judged', '=', false)
      .whereRef('spend.slot', '>', 'walletHistory.fromSlot')
      .orderBy('spend.slot')
      .limit(limit)
      .execute();
  }

  /** Call this only after the results of the spends are stored. */
  async markJudged(wallet: string, signatures: readonly string[]): Promise<void> {
    await this.db
      .updateTable('spend')
      .set({ judged: true })
      .where('wallet', '=', wallet)
      .where('signature', '=', anyOf(signatures))
      .execute();
  }
}
