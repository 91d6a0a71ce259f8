import { sql, type Transaction } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Tables } from '../database.ts';
import { disown } from './continuity.ts';

/** Which cluster the record belongs to, by the hash of its genesis, and since when. */
export interface ClusterRow {
  readonly genesisHash: string;
  readonly boundAt: Date;
}

/** What a record of one cluster holds that means nothing on another, or would pay twice there. */
const OF_THE_CHAIN = [
  'settlement',
  'attempt',
  'nonceAccount',
  'deposit',
  'outflow',
  'spend',
  'asset',
] as const;

/** Where the scan stood there. */
const OF_THE_SCAN = [
  'scanCursor',
  'block',
  'scanGap',
  'stagedRange',
  'rescan',
  'reconciliation',
  'reconciledPass',
  'unreadWallet',
] as const;

/**
 * The one cluster of this record. Slots, heights, hashes and signatures on record mean nothing on another: there every attempt
 * of ours is missing, and a longer chain would prove it dead. The first worker binds it, and nothing unbinds it once anything was composed.
 * Source: docs/decisions/0016-one-database-one-cluster.md.
 */
export class Cluster {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Null where no worker has used this record yet. */
  async get(): Promise<ClusterRow | null> {
    const row = await this.#db.selectFrom('cluster').select(['genesisHash', 'boundAt']).executeTakeFirst();
    return row ?? null;
  }

  /** Binds a record that belongs to no cluster yet; throws WrongCluster where it belongs to another. Of two at once one binds. */
  async bind(genesisHash: string): Promise<void> {
    const known = await this.get();
    if (known === null)
      await this.#db
        .insertInto('cluster')
        .values({ genesisHash })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    await this.check(genesisHash);
  }

  /** Throws WrongCluster where the record belongs to another; binds nothing. */
  async check(genesisHash: string): Promise<void> {
    const known = await this.get();
    if (known === null || known.genesisHash === genesisHash) return;
    const message = `the nodes belong to cluster ${genesisHash}, but this record belongs to ${known.genesisHash}: nothing is judged or composed`;
    throw new DomainError('WrongCluster', message, { nodes: genesisHash, record: known.genesisHash });
  }

  /**
   * Unbinds a record on which nothing was ever asked for, composed, credited, listed or given to a user, with the positions that it had
   * on that chain, so that the next worker binds it anew, and trusts it after a quarantine: a record that was restored from before its
   * first row looks just like it. Answers what it was bound to. Throws ClusterInUse where anything was, and in a copy that was written to
   * elsewhere.
   */
  async forget(): Promise<ClusterRow | null> {
    return this.#db.transaction().execute(async (trx) => {
      await sql`lock table settlement, attempt, nonce_account, cluster, scan_cursor in exclusive mode`.execute(
        trx,
      );
      for (const table of OF_THE_CHAIN) await refuseAnyOf(trx, table);
      await refuseAssigned(trx);
      await disown(trx);
      await trx.deleteFrom('walletHistory').execute();
      await trx.deleteFrom('nodeLedger').execute();
      await trx.deleteFrom('walletBaseline').execute();
      for (const table of OF_THE_SCAN) await trx.deleteFrom(table).execute();
      await trx.updateTable('watchedWallet').set({ watchedAfter: null }).execute();
      await trx.updateTable('depositAddress').set({ importedAfter: null }).execute();
      const row = await trx.deleteFrom('cluster').returning(['genesisHash', 'boundAt']).executeTakeFirst();
      return row ?? null;
    });
  }
}

async function refuseAnyOf(trx: Transaction<Tables>, table: (typeof OF_THE_CHAIN)[number]): Promise<void> {
  const found = await trx.selectFrom(table).select(sql`1`.as('one')).limit(1).executeTakeFirst();
  if (found === undefined) return;
  const message =
    'this record holds withdrawals or transactions of its cluster, and belongs to it for ever: give another cluster a database of its own';
  throw new DomainError('ClusterInUse', message);
}

/** Without a cursor nothing that its user pays would be seen until the next scan begins, at a block of then. */
async function refuseAssigned(trx: Transaction<Tables>): Promise<void> {
  const found = await trx
    .selectFrom('depositAddress')
    .select('userRef')
    .where('userRef', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  if (found === undefined) return;
  const message = `user ${found.userRef} has a deposit address of this record, and may pay to it on its cluster at any time: give another cluster a database of its own`;
  throw new DomainError('ClusterInUse', message);
}
