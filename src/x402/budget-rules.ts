import type { PayerHistory, SourcePayment } from '../ledger/x402/payment-costs.ts';

/** What decides whether our fee payer pays the fee of one more payment. Fees are lamports in the last hour. */
export interface FeeFacts {
  readonly feePayer: string;
  readonly payer: string;
  readonly route: string;
  readonly spent: { readonly byFeePayer: bigint; readonly byPayer: bigint };
  readonly budgets: { readonly feePayer: bigint; readonly buyer: bigint };
  readonly history: PayerHistory;
  /** Newest buyers of the route within ten minutes, and how many of their newest payments failed on chain. */
  readonly newest: { readonly buyers: number; readonly failed: number };
}

/**
 * After this many failed payments at our cost, nothing is signed for the payer until a payment lands, or until fewer of
 * the failures are younger than an hour.
 */
export const MAX_FAILURES = 3;
/** Fewer buyers do not show that a route keeps failing. */
const MIN_BUYERS = 10;

/** Why the fee is not paid now; null if it is. */
export function feeRefusal(facts: FeeFacts): string | null {
  const { feePayer, payer, route, spent, budgets, history } = facts;
  if (history.failures >= MAX_FAILURES)
    return `${history.failures} payments of ${payer} failed on chain within one hour, at our cost: none is settled until one lands or an hour has passed`;
  if (keepsFailing(facts.newest) && !history.hasLanded)
    return `payments of route ${route} keep failing on chain, at our cost: none of a new buyer is settled for now`;
  if (spent.byFeePayer >= budgets.feePayer)
    return `fee payer ${feePayer} has spent its fee budget for one hour`;
  if (spent.byPayer >= budgets.buyer)
    return `payments of ${payer} have used the fee budget of one buyer for one hour`;
  return null;
}

/** True if the newest payment of at least half of the buyers failed. Each buyer counts once. */
function keepsFailing({ buyers, failed }: FeeFacts['newest']): boolean {
  return buyers >= MIN_BUYERS && failed * 2 >= buyers;
}

/**
 * Base units that other payments can still take out of a token account: those that are stored as open, and the `held`
 * ones that are not stored yet.
 */
export function claimedUnits(
  id: string,
  stored: readonly SourcePayment[],
  held: ReadonlyMap<string, bigint>,
): bigint {
  const storedIds = new Set(stored.map((payment) => payment.id));
  const open = stored.filter((payment) => payment.isOpen && payment.id !== id);
  const unstored = [...held].filter(([other]) => other !== id && !storedIds.has(other));
  return [...open.map(({ amount }) => amount), ...unstored.map(([, amount]) => amount)].reduce(
    (sum, amount) => sum + amount,
    0n,
  );
}
