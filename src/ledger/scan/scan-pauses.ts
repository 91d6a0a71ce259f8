import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { type Database, Repository, type RowOf, type Trx } from '../database.ts';
import { lockCursor } from './scan-cursor.ts';

type ScanPauseRow = RowOf<'scanPause'>;

/** At most one pause is open. While it is, the cursor stays, even if workers or Temporal lose their state. */
export class ScanPauses extends Repository {
  /** After the commit no block is committed, no deposit confirmed or announced. An open pause stays as it is. */
  async begin({ actor, reason }: OperatorNote): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      await lockCursor(trx);
      await trx
        .insertInto('scanPause')
        .values({ actor, reason })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    });
  }

  async end({ actor, reason }: OperatorNote): Promise<void> {
    await this.db
      .updateTable('scanPause')
      .set({ endedAt: sql<Date>`now()`, endedBy: actor, endedReason: reason })
      .where('endedAt', 'is', null)
      .execute();
  }

  /** Throws ScanPaused. */
  async assertNone(): Promise<void> {
    await assertNotPaused(this.db);
  }
}

/** Throws ScanPaused. While the transaction holds the lock of the cursor, no pause begins. */
export async function assertNotPaused(db: Database): Promise<void> {
  const pause = await openPause(db);
  if (pause === undefined) return;
  const { actor, reason, since } = pause;
  throw new DomainError('ScanPaused', `${actor} paused the scan: ${reason}`, { since: since.toISOString() });
}

/** The cursor's slot, or null. Until the transaction ends it stays, and no pause begins. Throws ScanPaused. */
export async function lockUnpausedCursor(trx: Trx): Promise<bigint | null> {
  const cursor = await trx.selectFrom('scanCursor').select('slot').forShare().executeTakeFirst();
  await assertNotPaused(trx);
  return cursor?.slot ?? null;
}

export async function openPause(db: Database): Promise<ScanPauseRow | undefined> {
  return db.selectFrom('scanPause').selectAll().where('endedAt', 'is', null).executeTakeFirst();
}
