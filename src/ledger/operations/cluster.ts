import { DomainError } from '../../domain/errors.ts';
import { Repository, type RowOf } from '../database.ts';

export type ClusterRow = Omit<RowOf<'cluster'>, 'one'>;

/**
 * The one cluster of this database. On another one all our attempts are missing, and a longer chain would prove them
 * dead. The first worker binds the database for ever.
 * Source: docs/decisions/0016-one-database-one-cluster.md.
 */
export class Cluster extends Repository {
  /** Null if no worker has used this database yet. */
  async get(): Promise<ClusterRow | null> {
    const row = await this.db.selectFrom('cluster').select(['genesisHash', 'boundAt']).executeTakeFirst();
    return row ?? null;
  }

  /** Binds a database that has no cluster yet. Throws WrongCluster if it belongs to another. */
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

  /** Throws WrongCluster if the database belongs to another cluster; binds nothing. */
  async check(genesisHash: string): Promise<void> {
    const cluster = await this.get();
    if (cluster === null || cluster.genesisHash === genesisHash) return;
    const message = `the nodes belong to cluster ${genesisHash}, but this database belongs to ${cluster.genesisHash}: no attempt is judged or composed. Configure nodes of that cluster`;
    throw new DomainError('WrongCluster', message, { nodes: genesisHash, record: cluster.genesisHash });
  }
}
