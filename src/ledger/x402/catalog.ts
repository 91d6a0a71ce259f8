import { sql } from 'kysely';
import { Repository } from '../database.ts';

/** A resource of a facilitator's caller. `item`: its accepted payments and its description, for the public list. */
export interface CatalogEntry {
  readonly resource: string;
  readonly method: string;
  readonly item: Readonly<Record<string, unknown>>;
  readonly updatedAt: Date;
}

/** Each key of the facilitator has at most this many resources. */
const MAX_OF_KEY = 100;

/** HTTP resources that callers of the facilitator sell, in the list `GET /discovery/resources`. */
export class Catalog extends Repository {
  /** Stores a resource of the key, and deletes the key's oldest one if there are too many. */
  async put(
    facilitatorKey: string,
    { resource, method, item }: Omit<CatalogEntry, 'updatedAt'>,
  ): Promise<void> {
    const values = { facilitatorKey, resource, method, item: JSON.stringify(item) };
    await this.db.transaction().execute(async (trx) => {
      await trx
        .insertInto('catalogEntry')
        .values(values)
        .onConflict((conflict) =>
          conflict
            .columns(['facilitatorKey', 'resource', 'method'])
            .doUpdateSet({ item: values.item, updatedAt: sql<Date>`now()` }),
        )
        .execute();
      const surplus = trx
        .selectFrom('catalogEntry')
        .select(['resource', 'method'])
        .where('facilitatorKey', '=', facilitatorKey)
        .orderBy('updatedAt', 'desc')
        .offset(MAX_OF_KEY);
      await trx
        .deleteFrom('catalogEntry')
        .where('facilitatorKey', '=', facilitatorKey)
        .where(sql<boolean>`(resource, method) in (${surplus})`)
        .execute();
    });
  }

  /** At most `limit` resources of existing keys that were paid within the last `days`, newest first. */
  async list(days: number, limit: number): Promise<readonly CatalogEntry[]> {
    return this.db
      .selectFrom('catalogEntry')
      .innerJoin('apiKey', 'apiKey.name', 'catalogEntry.facilitatorKey')
      .select(['resource', 'method', 'item', 'updatedAt'])
      .where('apiKey.kind', '=', 'facilitator')
      .where('updatedAt', '>', sql<Date>`now() - ${days} * interval '1 day'`)
      .orderBy('updatedAt', 'desc')
      .orderBy('resource')
      .limit(limit)
      .execute();
  }
}
