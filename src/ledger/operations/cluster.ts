import { DomainError } from '../../domain/errors.ts';
import { Repository, type RowOf } from '../database.ts';

export type ClusterRow = Omit<RowOf<'cluster'>, 'one'>;

/**
 * The cluster that this database belongs to; the first worker binds it permanently. Nodes of another cluster have none
 * of our attempts, and a higher block height there would prove them dead.
 * Source: docs/decisions/0016-one-database-one-cluster.md.
 */
export class Cluster extends Repository {
  /** The bound cluster; null if no worker has used this database yet. */
  async get(): Promise<ClusterRow | null> {
    const row = await this.db.selectFrom('cluster').select(['genesisHash', 'boundAt']).executeTakeFirst();
    return row ?? null;
  }

  /** Binds the database if it has no cluster yet. Throws WrongCluster if it belongs to another cluster. */
  async bind(genesisHash: string): Promise<void> {
    const cluster = await this.get();
    if (cluster === null)
      await this.db
        .insertInto('cluster')
        .values({ genesisHash })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    await this.check(genesisHash);
  }

  /** Throws WrongCluster if the database belongs to another cluster. Does not bind the database. */
  async check(genesisHash: string): Promise<void> {
    const cluster = await this.get();
    if (cluster === null || cluster.genesisHash === genesisHash) return;
    const message = `the nodes belong to cluster ${genesisHash}, but the database belongs to cluster ${cluster.genesisHash}: no payment is prepared or judged. Configure nodes of the database's cluster in SLUICE_RPC_URLS`;
    throw new DomainError('WrongCluster', message, { nodes: genesisHash, record: cluster.genesisHash });
  }
}
