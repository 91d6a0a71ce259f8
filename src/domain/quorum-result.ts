import type { Inflow, NotCreditedReason } from './deposit.ts';

/** The part of an arrival that nodes can confirm. */
export type ReportedInflow = Pick<Inflow, 'wallet' | 'amount' | 'reason'>;

/** One node's answer about a recorded arrival; null if the node returns the transaction without it. */
export interface InflowAnswer {
  readonly node: string;
  readonly arrival: ReportedInflow | null;
}

export interface InflowVerdict extends ReportedInflow {
  readonly by: readonly string[];
}

/** Reasons that depend on our own terms, which may change. All others depend on the chain alone. */
const OF_OUR_TERMS: ReadonlySet<NotCreditedReason> = new Set([
  'unknown_mint',
  'deposits_off',
  'below_minimum',
]);

/**
 * The arrival that at least `quorum` nodes return alike, owner included; null if too few do. If it equals the
 * recorded one, the recorded reason is kept: our own terms are applied once, when the block is read.
 */
export function verdictOn(
  onRecord: ReportedInflow,
  testimonies: readonly InflowAnswer[],
  quorum: number,
): InflowVerdict | null {
  for (const { arrival } of testimonies) {
    if (arrival === null) continue;
    const by = testimonies.filter((other) => other.arrival !== null && isAlike(other.arrival, arrival));
    if (by.length < quorum) continue;
    const { wallet, amount, reason } = isAlike(onRecord, arrival) ? onRecord : arrival;
    return { wallet, amount, reason, by: by.map(({ node }) => node) };
  }
  return null;
}

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
