import { sql } from 'kysely';
import { type BlockName, isParent } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, LockProof, Trx } from '../database.ts';
import { dropAnnouncedUpTo } from '../deposits/deposit-writing.ts';

/** The last committed block of the scan. Every block before it is linked to it and scanned. */
export type Cursor = BlockName;

/** A cursor whose row this transaction has locked: no other transaction moves it before this one ends. */
export type LockedCursor = LockProof<Cursor, 'cursor'>;

export async function readCursor(db: Database): Promise<Cursor | null> {
  const row = await db.selectFrom('scanCursor').select(['slot', 'blockhash', 'height']).executeTakeFirst();
  return row ?? null;
}

export async function lockCursor(trx: Trx): Promise<LockedCursor | null> {
  const row = await trx
    .selectFrom('scanCursor')
    .select(['slot', 'blockhash', 'height'])
    .forUpdate()
    .executeTakeFirst();
  return row === undefined ? null : (row as LockedCursor);
}

/** Throws SlotsNotRecorded unless the scan has reached slot `to`. */
export function assertScanned(cursor: Cursor | null, to: bigint): void {
  if (cursor !== null && to <= cursor.slot) return;
  const message =
    cursor === null
      ? 'the scan has not read a block yet'
      : `the scan has not reached slot ${to}: ${cursor.slot} is the last slot that it has read`;
  throw new DomainError('SlotsNotRecorded', message, { field: 'to' });
}

/** Throws IllegalTransition unless the first header links to the cursor, and every later header to the one before. */
export function assertLinked(cursor: Cursor, headers: readonly BlockHeader[]): void {
  let previous = cursor;
  for (const header of headers) {
    if (!isParent(previous, header)) {
      const [slot, after] = [header.slot.toString(), previous.slot.toString()];
      throw new DomainError('IllegalTransition', `block ${slot} is not the child of block ${after}`, {
        slot,
        after,
      });
    }
    previous = header;
  }
}

/**
 * Moves the cursor and returns it. Up to the new slot, drops announced deposits that were not finalized, marks a passed
 * gap as filled, shortens a gap that contains the slot, and deletes staged ranges, which can no longer be joined.
 */
export async function moveCursor(trx: Trx, from: LockedCursor, to: Cursor): Promise<LockedCursor> {
  const { slot } = to;
  await dropAnnouncedUpTo(trx, slot);
  const openGap = trx.updateTable('scanGap').where('state', '=', 'open');
  await openGap.set({ state: 'filled', endedAt: sql<Date>`now()` }).where('toSlot', '<=', slot).execute();
  await openGap
    .set({ fromSlot: slot + 1n })
    .where('toSlot', '>', slot)
    .execute();
  await trx.deleteFrom('stagedRange').where('fromSlot', '<=', slot).execute();
  await trx.updateTable('scanCursor').set(to).execute();
  return { ...from, ...to };
}
