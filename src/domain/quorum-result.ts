import type { Inflow, NotCreditedReason } from './deposit.ts';

/** The part of an arrival that nodes can confirm. */
export type Told = Pick<Inflow, 'wallet' | 'amount' | 'reason'>;

/** One node's answer about a recorded arrival; null if the node returns the transaction without it. */
export interface Testimony {
  readonly node: string;
  readonly arrival: Told | null;
}

export interface Verdict extends Told {
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
export function verdictOn(onRecord: Told, testimonies: readonly Testimony[], quorum: number): Verdict | null {
  for (const { arrival } of testimonies) {
    if (arrival === null) continue;
    const by = testimonies.filter((other) => other.arrival !== null && isAlike(other.arrival, arrival));
    if (by.length < quorum) continue;
    const { wallet, amount, reason } = isAlike(onRecord, arrival) ? onRecord : arrival;
    return { wallet, amount, reason, by: by.map(({ node }) => node) };
  }
  return null;
}

export function isAlike(one: Told, other: Told): boolean {
  return (
    one.wallet === other.wallet &&
    one.amount === other.amount &&
    toldByChain(one.reason) === toldByChain(other.reason)
  );
}

export function inWords({
  amount,
  asset,
  account,
  wallet,
  reason,
}: Told & Pick<Inflow, 'asset' | 'account'>): string {
  const at = account === wallet ? account : `${account} of ${wallet}`;
  return `${amount} of ${asset} at ${at}${reason === null ? '' : ` as ${reason}`}`;
}

function toldByChain(reason: NotCreditedReason | null): NotCreditedReason | null {
  return reason === null || OF_OUR_TERMS.has(reason) ? null : reason;
}
