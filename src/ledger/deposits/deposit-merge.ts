import type { BlockHeader, Inflow, Movement } from '../../domain/deposit.ts';
import { depositKey } from '../../domain/deposit.ts';
import { isAlike } from '../../domain/quorum-result.ts';
import type { RowOf } from '../database.ts';

/** An inflow and its block; `blockhash` is null if only the transaction was available. */
export type Arrival = Inflow &
  Pick<BlockHeader, 'slot' | 'time'> & { readonly blockhash: BlockHeader['blockhash'] | null };

export type KnownDeposit = Pick<
  RowOf<'deposit'>,
  'id' | 'slot' | 'state' | 'reason' | 'finalizedAt' | keyof Movement
>;

/** A deposit that an arrival changes; `isNews`: the feed gets an event for it. */
export interface DepositChange {
  readonly id: bigint;
  readonly arrival: Arrival;
  readonly isNews: boolean;
}

/** A finalized deposit for which a block now shows something else, or a rejected one that is read again. */
export interface Mismatch {
  readonly known: KnownDeposit;
  readonly arrival: Arrival;
}

export interface Merge {
  readonly added: readonly Arrival[];
  /** Announced deposits that are finalized, unconfirmed ones that differ, and rejected ones that are read again. */
  readonly changed: readonly DepositChange[];
  readonly mismatches: readonly Mismatch[];
}

/**
 * Each arrival is one deposit for ever, whatever announced it and however often its block is read. Later terms of
 * the asset do not change the first verdict on a finalized deposit. Wallet, amount and reason can be corrected until
 * a quorum confirms them, never after. A rejected deposit that is read again waits for a new quorum.
 * `known` holds every deposit with the signature of an arrival.
 */
export function mergeArrivals(known: readonly KnownDeposit[], arrivals: readonly Arrival[]): Merge {
  const stored = new Map(known.map((row) => [depositKey(row), row]));
  const added = new Map<string, Arrival>();
  const changed = new Map<bigint, DepositChange>();
  const mismatches: Mismatch[] = [];
  for (const arrival of arrivals) {
    const before = stored.get(depositKey(arrival));
    if (before === undefined) added.set(depositKey(arrival), arrival);
    else if (before.finalizedAt === null) {
      const isNews = before.state === 'dropped' || !isAlike(before, arrival);
      changed.set(before.id, { id: before.id, arrival, isNews });
    } else if (before.state === 'dropped' || (before.state === 'pending' && !isAlike(before, arrival))) {
      mismatches.push({ known: before, arrival });
      changed.set(before.id, { id: before.id, arrival, isNews: true });
    } else if (before.state !== 'pending' && before.amount !== arrival.amount) {
      mismatches.push({ known: before, arrival });
    }
  }
  return { added: [...added.values()], changed: [...changed.values()], mismatches };
}
