import type { Inflow, NotCreditedReason } from './deposit.ts';

/** An arrival as far as witnesses can tell of it. */
export type Told = Pick<Inflow, 'wallet' | 'amount' | 'reason'>;

/** What one node shows in the place of an arrival on record; null where it shows the transaction without it. */
export interface Testimony {
  readonly node: string;
  readonly arrival: Told | null;
}

/** What a quorum makes of an arrival. */
export interface Verdict extends Told {
  /** The nodes that show it so. */
  readonly by: readonly string[];
}

/** Reasons of our own choice, which may change; any other is told by the chain. */
const OF_OUR_TERMS: ReadonlySet<NotCreditedReason> = new Set([
  'unknown_mint',
  'deposits_off',
  'below_minimum',
]);

/**
 * What at least `quorum` nodes show alike, whose it is included; null where too few do. Where that is what is on record, the reason on
 * record stands: our own terms are judged once, when the block is read.
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

/** True where the chain says the same in both. */
export function isAlike(one: Told, other: Told): boolean {
  return (
    one.wallet === other.wallet &&
    one.amount === other.amount &&
    toldByChain(one.reason) === toldByChain(other.reason)
  );
}

/** An arrival for people. */
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
