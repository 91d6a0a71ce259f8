import { sql } from 'kysely';
import { highest, lowest } from '../../domain/units.ts';
import { Repository, type Trx } from '../database.ts';
import { lockCursor } from './scan-cursor.ts';

interface PruneOptions {
  /** Number of slots behind the cursor whose headers are always retained. */
  readonly retainedSlots?: bigint | undefined;
  /** Maximum number of slots behind the cursor whose headers are retained for audits of addresses and for backfills. */
  readonly auditSlots?: bigint;
  /** Maximum number of headers that one transaction deletes. */
  readonly maxDeleted?: number;
}

/**
 * Three epochs, 270 MB. Nodes retain about two epochs, so older blocks come only from archives. Proving an attempt
 * dead needs only the 300 blocks of its validity window.
 */
const RETAINED_SLOTS = 1_296_000n;
/**
 * Six epochs, 540 MB. Audits use the hashes and times of headers but work without them, so an audit that never ends
 * because no node has its slots must not retain all headers.
 */
const MAX_AUDIT_SLOTS = 2n * RETAINED_SLOTS;
/** Exceeds the number of blocks between two prunings, so that the backlog of a long catch-up shrinks. */
const MAX_DELETED = 10_000;

const LOWEST_ATTEMPT_SLOT = sql<bigint>`select min(blockhash_slot) from attempt where state in ('prepared', 'signed')`;

/** Headers of committed blocks. Those that unfinished work needs are retained; others are deleted, oldest first. */
export class BlockHeaders extends Repository {
  /** Lowest slot whose blocks nodes must still have, for the scan or for an open attempt; null if there is neither. */
  async neededSlot(): Promise<bigint | null> {
    const { rows } = await sql<{ slot: bigint | null }>`select least(
      (${LOWEST_ATTEMPT_SLOT}), (select slot from scan_cursor)) as slot`.execute(this.db);
    return rows[0]?.slot ?? null;
  }

  /**
   * Deletes headers more than `retainedSlots` behind the cursor that no unfinished work needs. Returns their number.
   */
  async prune({
    retainedSlots = RETAINED_SLOTS,
    auditSlots = MAX_AUDIT_SLOTS,
    maxDeleted = MAX_DELETED,
  }: PruneOptions = {}): Promise<number> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      if (cursor === null) return 0;
      const neededSlot = await lowestNeededSlot(trx, cursor.slot - auditSlots);
      const retainedFrom = cursor.slot - retainedSlots;
      const pruned = await trx
        .deleteFrom('block')
        .where('slot', 'in', (block) =>
          block
            .selectFrom('block')
            .select('slot')
            .where('slot', '<', lowest([retainedFrom, neededSlot ?? retainedFrom]))
            .orderBy('slot')
            .limit(maxDeleted),
        )
        .returning('slot')
        .execute();
      if (pruned.length > 0) {
        const prunedTo = highest([0n, ...pruned.map(({ slot }) => slot)]);
        await trx.updateTable('scanCursor').set({ prunedTo }).execute();
      }
      return pruned.length;
    });
  }
}

/**
 * Lowest slot whose header unfinished work needs: an attempt, an open gap or, not below `auditFrom`, an audit or a
 * backfill. Null if there is none. A backfill also needs the block below its first one, to which it links.
 */
async function lowestNeededSlot(trx: Trx, auditFrom: bigint): Promise<bigint | null> {
  const { rows } = await sql<{ slot: bigint | null }>`select least(
    (${LOWEST_ATTEMPT_SLOT}),
    (select min(from_slot) from scan_gap where state = 'open'),
    (select greatest(min(since), ${auditFrom}) from deposit_address where audit_due having count(*) > 0),
    (select greatest(coalesce((select max(slot) from block where slot < min(from_slot)), min(from_slot)), ${auditFrom})
      from backfill where ended_at is null having count(*) > 0)) as slot`.execute(trx);
  return rows[0]?.slot ?? null;
}
