import { isDomainError } from '../../domain/errors.ts';
import { agreedOn, differencesOf, type Holding, type WalletView } from '../../domain/reconciliation.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Baseline } from '../../ledger/reconciliation/baselines.ts';
import type { WalletHoldings } from '../../solana/history/balances.ts';
import { type HistoryDeps, historyFor } from '../backfill/address-history.ts';
import { derivedAccountsOf } from '../credits/derived-accounts.ts';

export interface ExpectationDeps extends HistoryDeps {
  readonly ledger: Ledger;
  /** Slot of the scan's cursor before the nodes were asked. Null if no scan runs. */
  readonly scannedTo: bigint | null;
}

/** The balances of a wallet that a node returns, compared with the recorded movements up to their slot. */
export type Comparison = WalletHoldings & WalletView;

/** Compares the balances of deposit addresses with one database query for each slot. */
export async function compareDepositWallets(
  { ledger }: Pick<ExpectationDeps, 'ledger'>,
  holdings: readonly WalletHoldings[],
): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const slot of new Set(holdings.map((one) => one.slot))) {
    const ofSlot = holdings.filter((one) => one.slot === slot);
    const wallets = ofSlot.map(({ wallet }) => wallet);
    const recorded = await ledger.movements.balancesOf(wallets, slot);
    for (const one of ofSlot) {
      const ofWallet = recorded.filter(({ wallet }) => wallet === one.wallet);
      comparisons.push({ ...one, differences: differencesOf(one.holdings, ofWallet) });
    }
  }
  return comparisons;
}

/** Compares hot wallets. Only wallets for which a quorum agrees on the differences are in the result. */
export async function compareHotWallets(
  deps: ExpectationDeps,
  holdings: readonly WalletHoldings[],
): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const wallet of new Set(holdings.map((one) => one.wallet))) {
    const baseline = await deps.ledger.baselines.of(wallet);
    const views: Comparison[] = [];
    for (const one of holdings.filter((other) => other.wallet === wallet)) {
      const record = await expectedOf(deps, baseline, one).catch(nullIfNoHealthyNode);
      if (record !== null) views.push({ ...one, differences: differencesOf(one.holdings, record) });
    }
    const agreed = agreedOn(deps.pool.quorum, views);
    const comparison = agreed === null ? null : await storeBaseline(deps, baseline, agreed);
    if (comparison !== null) comparisons.push(comparison);
  }
  return comparisons;
}

function nullIfNoHealthyNode(error: unknown): null {
  if (isDomainError(error, 'NoHealthyNode')) return null;
  throw error;
}

/**
 * The expected balances of a hot wallet: its baseline plus the movements after the baseline. Without a baseline only
 * the movements: the difference is then the initial balance, on which nodes can agree at any slot. Null if they are not
 * known.
 */
async function expectedOf(
  deps: ExpectationDeps,
  baseline: Baseline | null,
  returned: WalletHoldings,
): Promise<readonly Holding[] | null> {
  const { ledger, scannedTo } = deps;
  const { wallet, slot } = returned;
  if (baseline === null) {
    if (scannedTo === null) return [];
    // The new baseline must not be below the cursor of the scan, so that the scan reads every block after the baseline.
    return slot < scannedTo ? null : ledger.movements.balancesOf([wallet], slot);
  }
  if (slot < baseline.slot) return null;
  if (scannedTo === null) return expectedByHistory(deps, baseline, returned);
  const movements = await ledger.movements.balancesOf([wallet], slot, baseline.slot);
  return [...baseline.balances, ...movements];
}

/** The baseline plus the transactions that nodes list after it. Null if the list is incomplete. */
async function expectedByHistory(
  deps: ExpectationDeps,
  baseline: Baseline,
  { wallet, slot, holdings }: WalletHoldings,
): Promise<readonly Holding[] | null> {
  const derived = derivedAccountsOf(await deps.ledger.assets.list(), wallet);
  const knownAccounts = [...baseline.balances, ...holdings].map(({ account }) => account);
  const accounts = new Set([wallet, ...derived, ...knownAccounts]);
  const {
    transactions: listed,
    unread,
    isComplete,
  } = await historyFor(deps, accounts, baseline.slot + 1n, slot);
  if (unread.length > 0 || !isComplete) return null;
  const movements = listed
    .flatMap(({ finding: { inflows, outflows } }) => [
      ...inflows,
      ...outflows.map((out) => ({ ...out, amount: -out.amount })),
    ])
    .filter((one) => one.wallet === wallet);
  return [...baseline.balances, ...movements];
}

/**
 * Stores the agreed balances as the baseline of a hot wallet if it has none, or if they match. The next comparison then
 * reads only later movements. Without an earlier baseline the result has no differences; null if it cannot be stored.
 */
async function storeBaseline(
  { ledger }: ExpectationDeps,
  baseline: Baseline | null,
  comparison: Comparison,
): Promise<Comparison | null> {
  const { wallet, slot, holdings: balances, differences } = comparison;
  const replaces = baseline?.slot ?? null;
  const isStored =
    (baseline === null || differences.length === 0) &&
    (await ledger.baselines.take({ wallet, slot, balances, replaces }));
  if (baseline === null) return isStored ? { ...comparison, differences: [] } : null;
  return comparison;
}
