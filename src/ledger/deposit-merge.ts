import type { BlockHeader, DepositState, Inflow, NotCreditedReason } from '../domain/deposit.ts';
import { announcedKey, finalizedKey } from '../domain/deposit-key.ts';

/** An inflow and the finalized block that it came in; `blockhash` null where only its transaction could be had. */
export type Arrival = Inflow &
  Pick<BlockHeader, 'slot' | 'time'> & { readonly blockhash: BlockHeader['blockhash'] | null };

/** What the record has of a deposit that an arrival may be. */
export interface KnownDeposit {
  readonly id: bigint;
  readonly signature: string;
  readonly slot: bigint;
  readonly blockhash: string | null;
  readonly account: string;
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

/** A finalized deposit of which another amount is read than the one on record, or any where it was rejected. */
export interface Mismatch {
  readonly known: KnownDeposit;
  readonly arrival: Arrival;
}

/** What arrivals make of the record. */
export interface Merge {
  readonly added: readonly Arrival[];
  /** Announced ones that are finalized now, unconfirmed ones of which another amount is read, and rejected ones that are read again. */
  readonly changed: readonly Change[];
  readonly mismatches: readonly Mismatch[];
}

/**
 * Each arrival is one deposit for ever, however often its block is read. The first judgement on a finalized one stands: terms that
 * changed since change nothing. Its amount may be put right until a quorum has confirmed it, and never after that. One that was rejected
 * waits for a quorum anew.
 * `known` holds every deposit with the signature of an arrival.
 */
export function mergeArrivals(known: readonly KnownDeposit[], arrivals: readonly Arrival[]): Merge {
  const finalized = new Map(known.filter(isFinalized).map((row) => [finalizedKey(row), row]));
  const announced = new Map(known.filter((row) => !isFinalized(row)).map((row) => [announcedKey(row), row]));
  const added = new Map<string, Arrival>();
  const changed = new Map<bigint, Change>();
  const mismatches: Mismatch[] = [];
  for (const arrival of arrivals) {
    const before = finalized.get(finalizedKey(arrival));
    const notice = announced.get(announcedKey(arrival));
    if (before === undefined && notice === undefined) added.set(finalizedKey(arrival), arrival);
    else if (before === undefined) {
      if (notice !== undefined)
        changed.set(notice.id, {
          id: notice.id,
          arrival,
          isNews: notice.state === 'dropped' || notice.amount !== arrival.amount,
        });
    } else if (before.state === 'dropped') {
      mismatches.push({ known: before, arrival });
      changed.set(before.id, { id: before.id, arrival, isNews: true });
    } else if (before.amount !== arrival.amount) {
      mismatches.push({ known: before, arrival });
      if (before.state === 'pending')
        changed.set(before.id, {
          id: before.id,
          arrival: { ...arrival, reason: before.reason },
          isNews: true,
        });
    }
  }
  return { added: [...added.values()], changed: [...changed.values()], mismatches };
}

function isFinalized({ finalizedAt }: KnownDeposit): boolean {
  return finalizedAt !== null;
}
