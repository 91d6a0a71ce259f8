import type { BlockHeader, Inflow, Movement } from '../../domain/deposit.ts';
import { depositKey } from '../../domain/deposit.ts';
import { isAlike } from '../../domain/quorum-result.ts';
import type { RowOf } from '../database.ts';

/** An inflow and its block; `blockhash` is null if only the transaction was available. */
export type BlockInflow = Inflow &
  Pick<BlockHeader, 'slot' | 'time'> & { readonly blockhash: BlockHeader['blockhash'] | null };

export type KnownDeposit = Pick<
  RowOf<'deposit'>,
  'id' | 'slot' | 'state' | 'reason' | 'finalizedAt' | keyof Movement
>;

/** A stored deposit that an inflow changes. `isNews`: the feed gets an event for the change. */
export interface DepositChange {
  readonly id: bigint;
  readonly inflow: BlockInflow;
  readonly isNews: boolean;
}

/** A finalized deposit that differs from what its block contains now, or a rejected deposit that was read again. */
export interface Mismatch {
  readonly known: KnownDeposit;
  readonly inflow: BlockInflow;
}

export interface Merge {
  readonly added: readonly BlockInflow[];
  /**
   * Announced deposits that became final, unconfirmed deposits that differ, and rejected deposits that were read
   * again.
   */
  readonly changed: readonly DepositChange[];
  readonly mismatches: readonly Mismatch[];
}

/**
 * Splits inflows into new deposits and changes of stored ones. Each inflow is one deposit, however it was announced
 * and however often its block is read. Later changes of the listing do not change the first verdict on a finalized
 * deposit. Wallet, amount and reason can be corrected until a quorum confirms them. A rejected deposit that is read
 * again waits for a new quorum. `known` must have every deposit with the signature of an inflow.
 */
export function mergeInflows(known: readonly KnownDeposit[], inflows: readonly BlockInflow[]): Merge {
  const stored = new Map(known.map((row) => [depositKey(row), row]));
  const added = new Map<string, BlockInflow>();
  const changed = new Map<bigint, DepositChange>();
  const mismatches: Mismatch[] = [];
  for (const inflow of inflows) {
    const before = stored.get(depositKey(inflow));
    if (before === undefined) added.set(depositKey(inflow), inflow);
    else if (before.finalizedAt === null) {
      const isNews = before.state === 'dropped' || !isAlike(before, inflow);
      changed.set(before.id, { id: before.id, inflow, isNews });
    } else if (before.state === 'dropped' || (before.state === 'pending' && !isAlike(before, inflow))) {
      mismatches.push({ known: before, inflow });
      changed.set(before.id, { id: before.id, inflow, isNews: true });
    } else if (before.state !== 'pending' && before.amount !== inflow.amount) {
      mismatches.push({ known: before, inflow });
    }
  }
  return { added: [...added.values()], changed: [...changed.values()], mismatches };
}
