import { sql, type Transaction } from 'kysely';
import type { BlockFinding, BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Tables } from '../database.ts';
import { givenRows } from '../deposits/given-rows.ts';
import { type FoundBlock, recordFindings } from './findings.ts';
import { assertLinked, type LockedCursor, moveCursor, readCursor } from './scan-cursor.ts';

export interface MatchedBlock {
  readonly header: BlockHeader;
  readonly finding: BlockFinding;
}

export const HEADER = [
  'slot',
  'blockhash',
  'parentSlot',
  'previousBlockhash',
  'height',
  'time',
] as const satisfies readonly (keyof BlockHeader)[];

/** Commits blocks after the cursor and returns the new cursor. Throws IllegalTransition if they are not linked. */
export async function appendBlocks(
  trx: Transaction<Tables>,
  cursor: LockedCursor,
  blocks: readonly MatchedBlock[],
): Promise<LockedCursor> {
  const headers = blocks.map(({ header }) => header);
  assertLinked(cursor, headers);
  await insertHeaders(trx, headers);
  await recordFindings(trx, blocks);
  const { slot, blockhash, height } = headers.at(-1) ?? cursor;
  return moveCursor(trx, cursor, { slot, blockhash, height });
}

export async function insertHeaders(
  trx: Transaction<Tables>,
  headers: readonly BlockHeader[],
): Promise<void> {
  await trx
    .insertInto('block')
    .columns(HEADER)
    .expression(trx.selectFrom(givenRows('block', headers)).select(HEADER))
    .execute();
}

/** Nulls if the slot has no stored header. `isSkipped`: the next header shows that it has no block. */
interface RecordedBlock {
  readonly slot: bigint;
  readonly blockhash: string | null;
  readonly time: bigint | null;
  readonly isSkipped: boolean;
}

/**
 * Adds the stored hashes and times to blocks up to the cursor. Throws InvalidRequest for a block above it, NodeFault
 * for a block that the stored headers contradict.
 */
export async function namedBlocks(
  trx: Transaction<Tables>,
  blocks: readonly FoundBlock[],
): Promise<readonly FoundBlock[]> {
  const cursor = await readCursor(trx);
  const slots = blocks.map(({ header }) => header.slot.toString());
  // The parent of the next header shows it: the slot has a block unless the parent is below it.
  const { rows } = await sql<RecordedBlock>`
    select given.slot, block.blockhash, block.time, block.slot is null and next.parent_slot < given.slot as "isSkipped"
    from unnest(${slots}::bigint[]) as given(slot)
    left join block on block.slot = given.slot
    left join lateral (select parent_slot from block where block.slot > given.slot order by block.slot limit 1) next
      on true`.execute(trx);
  const recorded = new Map(rows.map((row) => [row.slot, row]));
  return blocks.map(({ header, finding }) => {
    const { slot } = header;
    const context = { slot: slot.toString() };
    if (cursor === null || slot > cursor.slot)
      throw new DomainError('InvalidRequest', `block ${slot} is above the cursor`, context);
    const onRecord = recorded.get(slot);
    const blockhash = onRecord?.blockhash ?? header.blockhash;
    if (onRecord?.isSkipped === true || (header.blockhash ?? blockhash) !== blockhash)
      throw new DomainError('NodeFault', `block ${slot} is not the one that is on record`, context);
    // The stored time is a quorum's.
    const time = typeof onRecord?.blockhash === 'string' ? onRecord.time : header.time;
    return { header: { ...header, blockhash, time }, finding };
  });
}
