import type { BlockHeader, DepositState, Inflow, NotCreditedReason } from '../../domain/deposit.ts';
import { depositKey } from '../../domain/deposit-key.ts';
import { isAlike } from '../../domain/quorum-result.ts';

/** An inflow and the finalized block that it came in; `blockhash` null where only its transaction could be had. */
export type Arrival = Inflow &
  Pick<BlockHeader, 'slot' | 'time'> & { readonly blockhash: BlockHeader['blockhash'] | null };

/** What the record has of a deposit that an arrival may be. */
export interface KnownDeposit {
  readonly id: bigint;
  readonly signature: string;
  readonly slot: bigint;
  readonly account: string;
  readonly wallet: string;
  readonly asset: string;
  readonly amount: bigint;
  readonly state: DepositState;
  readonly reason: NotCreditedReason | null;
  readonly finalizedAt: Date | null;
}

/** A deposit that an arrival changes; `isNews` where its readers are to be told. */
export interface Change {
  readonly id: bigint;
  readonly arrival: Arrival;
  readonly isNews: boolean;
}

/** A finalized deposit of which something else is read than what is on record, or anything where it was rejected. */
export interface Mismatch {
  readonly known: KnownDeposit;
  readonly arrival: Arrival;
}

/** What arrivals make of the record. */
export interface Merge {
  readonly added: readonly Arrival[];
  /** Announced ones that are finalized now, unconfirmed ones of which something else is read, and rejected ones that are read again. */
  readonly changed: readonly Change[];
  readonly mismatches: readonly Mismatch[];
}

/**
 * Each arrival is one deposit for ever, whatever announced it and however often its block is read. The first judgement on a finalized
 * one stands: terms that changed since change nothing. Whose it is, its amount, and with them its reason, may be put right until a
 * quorum has confirmed it, and never after that. One that was rejected waits for a quorum anew.
 * `known` holds every deposit with the signature of an arrival.
 */
export function mergeArrivals(known: readonly KnownDeposit[], arrivals: readonly Arrival[]): Merge {
  const onRecord = new Map(known.map((row) => [depositKey(row), row]));
  const added = new Map<string, Arrival>();
  const changed = new Map<bigint, Change>();
  const mismatches: Mismatch[] = [];
  for (const arrival of arrivals) {
    const before = onRecord.get(depositKey(arrival));
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
