import { isDomainError } from '../../domain/errors.ts';
import { agreedOn, differencesOf, type Holding, type WalletView } from '../../domain/reconciliation.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Baseline } from '../../ledger/reconciliation/baselines.ts';
import type { WalletHoldings } from '../../solana/history/balances.ts';
import { type HistoryDeps, listedFor } from '../backfill/address-history.ts';
import { derivedAccountsOf } from '../credits/derived-accounts.ts';

export interface ExpectationDeps extends HistoryDeps {
  readonly ledger: Ledger;
  /** Scanned slot before the nodes were asked. Null if no scan runs. */
  readonly scannedTo: bigint | null;
}

/** A node's balances of a wallet, compared with the movements up to their slot. */
export type Look = WalletHoldings & WalletView;

/** Compares deposit addresses with one query per slot. */
export async function depositLooks(
  { ledger }: Pick<ExpectationDeps, 'ledger'>,
  shown: readonly WalletHoldings[],
): Promise<readonly Look[]> {
  const looks: Look[] = [];
  for (const slot of new Set(shown.map((one) => one.slot))) {
    const ofSlot = shown.filter((one) => one.slot === slot);
    const wallets = ofSlot.map(({ wallet }) => wallet);
    const recorded = await ledger.movements.balancesOf(wallets, slot);
    for (const one of ofSlot) {
      const ofWallet = recorded.filter(({ wallet }) => wallet === one.wallet);
      looks.push({ ...one, differences: differencesOf(one.holdings, ofWallet) });
    }
  }
  return looks;
}

/** Compares hot wallets: the differences on which a quorum agrees. A wallet without such a quorum is left out. */
export async function hotLooks(
  deps: ExpectationDeps,
  shown: readonly WalletHoldings[],
): Promise<readonly Look[]> {
  const looks: Look[] = [];
  for (const wallet of new Set(shown.map((one) => one.wallet))) {
    const baseline = await deps.ledger.baselines.of(wallet);
    const views: Look[] = [];
    for (const one of shown.filter((other) => other.wallet === wallet)) {
      const record = await expectedOf(deps, baseline, one).catch(unlisted);
      if (record !== null) views.push({ ...one, differences: differencesOf(one.holdings, record) });
    }
    const agreed = agreedOn(deps.pool.quorum, views);
    const look = agreed === null ? null : await takeBaseline(deps, baseline, agreed);
    if (look !== null) looks.push(look);
  }
  return looks;
}

function unlisted(error: unknown): null {
  if (isDomainError(error, 'NoHealthyNode')) return null;
  throw error;
}

/**
 * Expected balances: baseline plus movements since. Without a baseline only the movements: the difference is
 * the initial balance, on which nodes can agree at any slot.
 */
async function expectedOf(
  deps: ExpectationDeps,
  baseline: Baseline | null,
  shown: WalletHoldings,
): Promise<readonly Holding[] | null> {
  const { ledger, scannedTo } = deps;
  const { wallet, slot } = shown;
  if (baseline === null) {
    if (scannedTo === null) return [];
    // Every block after the baseline must be one that the scan reads.
    return slot < scannedTo ? null : ledger.movements.balancesOf([wallet], slot);
  }
  if (slot < baseline.slot) return null;
  if (scannedTo === null) return expectedByHistory(deps, baseline, shown);
  const moved = await ledger.movements.balancesOf([wallet], slot, baseline.slot);
  return [...baseline.balances, ...moved];
}

/** Expected balances by the transactions that nodes list since the baseline. Null if these are incomplete. */
async function expectedByHistory(
  deps: ExpectationDeps,
  baseline: Baseline,
  { wallet, slot, holdings }: WalletHoldings,
): Promise<readonly Holding[] | null> {
  const derived = derivedAccountsOf(await deps.ledger.assets.list(), wallet);
  const held = [...baseline.balances, ...holdings].map(({ account }) => account);
  const accounts = new Set([wallet, ...derived, ...held]);
  const { listed, unread, isWhole } = await listedFor(deps, accounts, baseline.slot + 1n, slot);
  if (unread.length > 0 || !isWhole) return null;
  const moved = listed
    .flatMap(({ finding: { inflows, outflows } }) => [
      ...inflows,
      ...outflows.map((out) => ({ ...out, amount: -out.amount })),
    ])
    .filter((one) => one.wallet === wallet);
  return [...baseline.balances, ...moved];
}

/**
 * Stores a hot wallet's baseline from a quorum's balances: first once, then after each match, so that the next comparison
 * reads only later movements. The first comparison has no differences. Null if it cannot be stored now.
 */
async function takeBaseline(
  { ledger }: ExpectationDeps,
  baseline: Baseline | null,
  look: Look,
): Promise<Look | null> {
  const { wallet, slot, holdings: balances, differences } = look;
  const replaces = baseline?.slot ?? null;
  const taken =
    (baseline === null || differences.length === 0) &&
    (await ledger.baselines.take({ wallet, slot, balances, replaces }));
  if (baseline === null) return taken ? { ...look, differences: [] } : null;
  return look;
}
