import { sql } from 'kysely';
import { type BlockId, isParent } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Database, Locked, Trx } from '../database.ts';
import { dropPassed } from '../deposits/deposit-writing.ts';

/** The last linked, scanned, committed block. */
export type Cursor = BlockId;

/** The cursor, locked by this transaction: no other one moves it before this one ends. */
export type LockedCursor = Locked<Cursor, 'cursor'>;

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

/** Throws SlotsNotRecorded if the scan has not reached `to`, the last slot of a range. */
export function assertReached(cursor: Cursor | null, to: bigint): void {
  if (cursor !== null && to <= cursor.slot) return;
  const message =
    cursor === null
      ? 'to: the scan has not read a block yet'
      : `to: must be at most ${cursor.slot}, the last slot that the scan has read`;
  throw new DomainError('SlotsNotRecorded', message, { field: 'to' });
}

/** Throws IllegalTransition unless each header names the previous one, the first the cursor, as its parent. */
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
 * Drops announced deposits up to the new slot that did not arrive, fills a passed gap, and shortens a gap that the
 * cursor is in. Deletes ranges staged from there or before, which can never be joined.
 */
export async function moveCursor(trx: Trx, from: LockedCursor, to: Cursor): Promise<LockedCursor> {
  const { slot } = to;
  await dropPassed(trx, slot);
  const open = trx.updateTable('scanGap').where('state', '=', 'open');
  await open.set({ state: 'filled', endedAt: sql<Date>`now()` }).where('toSlot', '<=', slot).execute();
  await open
    .set({ fromSlot: slot + 1n })
    .where('toSlot', '>', slot)
    .execute();
  await trx.deleteFrom('stagedRange').where('fromSlot', '<=', slot).execute();
  await trx.updateTable('scanCursor').set(to).execute();
  return { ...from, ...to };
}
