import type { Inflow, NotCreditedReason } from './deposit.ts';

/** The part of an arrival that nodes can confirm. */
export type ReportedInflow = Pick<Inflow, 'wallet' | 'amount' | 'reason'>;

export interface InflowVerdict extends ReportedInflow {
  readonly by: readonly string[];
}

/** Reasons that depend on our own terms, which may change. All others depend on the chain alone. */
const OF_OUR_TERMS: ReadonlySet<NotCreditedReason> = new Set([
  'unknown_mint',
  'deposits_off',
  'below_minimum',
]);

export function isAlike(one: ReportedInflow, other: ReportedInflow): boolean {
  return (
    one.wallet === other.wallet &&
    one.amount === other.amount &&
    readFromChain(one.reason) === readFromChain(other.reason)
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
  return `${amount} of ${asset} at ${at}${reason === null ? '' : ` as ${reason}`}`;
}

function readFromChain(reason: NotCreditedReason | null): NotCreditedReason | null {
  return reason === null || OF_OUR_TERMS.has(reason) ? null : reason;
}
