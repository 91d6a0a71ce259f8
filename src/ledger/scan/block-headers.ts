import { sql } from 'kysely';
import { highest, lowest } from '../../domain/units.ts';
import { Repository, type Trx } from '../database.ts';
import { lockCursor } from './scan-cursor.ts';

interface Retention {
  /** Slots behind the cursor whose headers are always kept. */
  readonly keptSlots?: bigint | undefined;
  /** The maximum of slots behind the cursor whose headers are kept for audits of addresses and for backfills. */
  readonly auditSlots?: bigint;
  /** The maximum of headers that one transaction deletes. */
  readonly atMost?: number;
}

/**
 * Three epochs, 270 MB. Nodes keep about two, so older blocks come from archives only. A proof of death needs the
 * 300 blocks of an attempt's life.
 */
const KEPT_SLOTS = 1_296_000n;
/**
 * As much again, 540 MB. Audits take hashes and times from headers, but do not need them. An audit that never ends,
 * because no node has its slots, must not keep all headers.
 */
const AUDIT_SLOTS = 2n * KEPT_SLOTS;
/** More than the blocks between two prunings, so that the blocks of a long catch-up are soon pruned too. */
const AT_MOST = 10_000;

const ATTEMPTS_NEED = sql<bigint>`select min(blockhash_slot) from attempt where state in ('prepared', 'signed')`;

/** Headers of committed blocks: those that unfinished work needs are kept, others deleted, oldest first. */
export class BlockHeaders extends Repository {
  /** The lowest slot whose blocks the scan or an open attempt needs from nodes; null if there is neither. */
  async neededSlot(): Promise<bigint | null> {
    const { rows } = await sql<{ slot: bigint | null }>`select least(
      (${ATTEMPTS_NEED}), (select slot from scan_cursor)) as slot`.execute(this.db);
    return rows[0]?.slot ?? null;
  }

  /** Deletes headers more than `keptSlots` behind the cursor that no unfinished work needs. Returns the number. */
  async prune({
    keptSlots = KEPT_SLOTS,
    auditSlots = AUDIT_SLOTS,
    atMost = AT_MOST,
  }: Retention = {}): Promise<number> {
    return this.db.transaction().execute(async (trx) => {
      const cursor = await lockCursor(trx);
      if (cursor === null) return 0;
      const needed = await neededFrom(trx, cursor.slot - auditSlots);
      const horizon = cursor.slot - keptSlots;
      const pruned = await trx
        .deleteFrom('block')
        .where('slot', 'in', (block) =>
          block
            .selectFrom('block')
            .select('slot')
            .where('slot', '<', lowest([horizon, needed ?? horizon]))
            .orderBy('slot')
            .limit(atMost),
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
 * The lowest slot that an attempt, an open gap or (from `auditFrom` on) an audit or a backfill needs; null for none. A
 * backfill of a closed gap links its blocks to the one below.
 */
async function neededFrom(trx: Trx, auditFrom: bigint): Promise<bigint | null> {
  const { rows } = await sql<{ slot: bigint | null }>`select least(
    (${ATTEMPTS_NEED}),
    (select min(from_slot) from scan_gap where state = 'open'),
    (select greatest(min(since), ${auditFrom}) from deposit_address where audit_due having count(*) > 0),
    (select greatest(coalesce((select max(slot) from block where slot < min(from_slot)), min(from_slot)), ${auditFrom})
      from backfill where ended_at is null having count(*) > 0)) as slot`.execute(trx);
  return rows[0]?.slot ?? null;
}
