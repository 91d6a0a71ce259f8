import { sql } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { type Database, Repository, type RowOf, type Trx } from '../database.ts';
import { lockCursor } from './scan-cursor.ts';

type ScanPauseRow = RowOf<'scanPause'>;

/** Pauses of the scan. At most one is open. While it is open, the cursor does not move, even if Temporal loses its state. */
export class ScanPauses extends Repository {
  /**
   * After the commit, no block is committed, and no deposit is confirmed or announced. An open pause stays unchanged.
   */
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

  /** Throws ScanPaused if a pause is open. */
  async assertNone(): Promise<void> {
    await assertNotPaused(this.db);
  }
}

/** Throws ScanPaused if a pause is open. If the transaction has locked the cursor, no pause begins before it ends. */
export async function assertNotPaused(db: Database): Promise<void> {
  const pause = await openPause(db);
  if (pause === undefined) return;
  const { actor, reason, since } = pause;
  throw new DomainError('ScanPaused', `${actor} paused the scan: ${reason}`, { since: since.toISOString() });
}

/** Locks the cursor and returns its slot, or null. Until the transaction ends, no pause begins. Throws ScanPaused. */
export async function lockUnpausedCursor(trx: Trx): Promise<bigint | null> {
  const cursor = await trx.selectFrom('scanCursor').select('slot').forShare().executeTakeFirst();
  await assertNotPaused(trx);
  return cursor?.slot ?? null;
}

export async function openPause(db: Database): Promise<ScanPauseRow | undefined> {
  return db.selectFrom('scanPause').selectAll().where('endedAt', 'is', null).executeTakeFirst();
}
