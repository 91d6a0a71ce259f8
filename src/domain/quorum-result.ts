import type { Inflow, NotCreditedReason } from './deposit.ts';

/** The part of an incoming transfer that nodes can confirm. */
export type ReportedInflow = Pick<Inflow, 'wallet' | 'amount' | 'reason'>;

export interface InflowVerdict extends ReportedInflow {
  readonly by: readonly string[];
}

/** Reasons that depend on our own terms, which can change. All other reasons depend only on the chain. */
const REASONS_BY_TERMS: ReadonlySet<NotCreditedReason> = new Set([
  'unknown_mint',
  'deposits_off',
  'below_minimum',
]);

export function isAlike(one: ReportedInflow, other: ReportedInflow): boolean {
  return (
    one.wallet === other.wallet &&
    one.amount === other.amount &&
    chainReason(one.reason) === chainReason(other.reason)
  );
}

export function describeInflow({
  amount,
  asset,
  account,
  wallet,
  reason,
}: ReportedInflow & Pick<Inflow, 'asset' | 'account'>): string {
  const at = account === wallet ? account : `${account} of ${wallet}`;
  return `${amount} base units of ${asset} at ${at}${reason === null ? '' : ` as ${reason}`}`;
}

function chainReason(reason: NotCreditedReason | null): NotCreditedReason | null {
  return reason === null || REASONS_BY_TERMS.has(reason) ? null : reason;
}
