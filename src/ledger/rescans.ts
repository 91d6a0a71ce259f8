import { type Selectable, sql, type Transaction } from 'kysely';
import { DomainError } from '../domain/errors.ts';
import type { Word } from '../domain/word.ts';
import type { Database, Tables } from './database.ts';
import type { RescanTable } from './deposit-tables.ts';
import { lockCursor } from './scan-cursor.ts';

/** Committed slots that are read again, both ends included. */
interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** Twice as long as the activity that reads is given: whoever began then is gone. */
const FORSAKEN_AFTER = sql`interval '2 days'`;

/** What is read again just now: its headers are kept until that ends. */
export class Rescans {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** From here on nothing of it is pruned. May be repeated. Throws InvalidRequest where some of it was pruned before. */
  async begin({ from, to, who, why }: Range & Word): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      await lockCursor(trx);
      const cursor = await trx.selectFrom('scanCursor').select('prunedTo').executeTakeFirst();
      const prunedTo = cursor?.prunedTo ?? null;
      if (prunedTo !== null && from <= prunedTo) {
        const message = `from: the headers up to slot ${prunedTo} are no longer on record`;
        throw new DomainError('InvalidRequest', message, { field: 'from' });
      }
      await trx
        .insertInto('rescan')
        .values({ fromSlot: from, toSlot: to, who, why })
        .onConflict((conflict) =>
          conflict.columns(['fromSlot', 'toSlot']).doUpdateSet({ begunAt: sql<Date>`now()` }),
        )
        .execute();
    });
  }

  /** Those under way, the oldest first. */
  async open(limit: number): Promise<readonly Selectable<RescanTable>[]> {
    return this.#db.selectFrom('rescan').selectAll().orderBy('begunAt').limit(limit).execute();
  }

  async end({ from, to }: Range): Promise<void> {
    await this.#db.deleteFrom('rescan').where('fromSlot', '=', from).where('toSlot', '=', to).execute();
  }
}

/** Ends those whose run was lost: they must not keep headers for ever. */
export async function dropForsaken(trx: Transaction<Tables>): Promise<void> {
  await trx.deleteFrom('rescan').where('begunAt', '<', sql<Date>`now() - ${FORSAKEN_AFTER}`).execute();
}
