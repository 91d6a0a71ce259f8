import type { WatchKind } from '../domain/deposit.ts';
import { differencesOf, type Holding } from '../domain/reconciliation.ts';
import type { Baseline } from '../ledger/baselines.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { deriveAta } from '../solana/ata.ts';
import type { WalletHoldings } from '../solana/scan/holdings.ts';
import { type HistoryDeps, listedFor } from './listed-history.ts';

export interface ExpectationDeps extends HistoryDeps {
  readonly ledger: Ledger;
  /** The slot to which blocks were scanned before the chain was asked; null where no scan keeps the record. */
  readonly scannedTo: bigint | null;
}

/**
 * What a wallet should hold at the slot at which it was shown: what had come to a deposit address and left it; for a hot wallet also
 * what it held at its baseline. Its first look takes that. Null where nothing can be said of that slot.
 */
export async function expectedOf(
  deps: ExpectationDeps,
  kind: WatchKind,
  shown: WalletHoldings,
): Promise<readonly Holding[] | null> {
  const { ledger, scannedTo } = deps;
  const { wallet, slot, holdings } = shown;
  if (kind === 'deposit') return ledger.movements.balancesOf([wallet], slot);
  const baseline = await ledger.baselines.of(wallet);
  if (baseline === null) {
    // Every block behind the baseline must be one that is scanned.
    if (scannedTo !== null && slot < scannedTo) return null;
    const taken = await ledger.baselines.take({ wallet, slot, balances: holdings, replaces: null });
    return taken ? holdings : null;
  }
  if (slot < baseline.slot) return null;
  if (scannedTo === null) return expectedByHistory(deps, baseline, shown);
  const moved = await ledger.movements.balancesOf([wallet], slot, baseline.slot);
  return [...baseline.balances, ...moved];
}

/** By what nodes list for the wallet since its baseline, null where they do not show all of it; where that explains all, the baseline moves on: the next look lists little. */
async function expectedByHistory(
  deps: ExpectationDeps,
  baseline: Baseline,
  { wallet, slot, holdings }: WalletHoldings,
): Promise<readonly Holding[] | null> {
  const { ledger } = deps;
  const derived = (await ledger.assets.list()).flatMap(({ asset, program }) =>
    program === null ? [] : [deriveAta(wallet, asset, program)],
  );
  const held = [...baseline.balances, ...holdings].map(({ account }) => account);
  const accounts = new Set([wallet, ...derived, ...held]);
  const { listed, unread } = await listedFor(deps, accounts, baseline.slot + 1n, slot);
  if (unread.length > 0) return null;
  const moved = listed
    .flatMap(({ finding: { inflows, outflows } }) => [
      ...inflows,
      ...outflows.map((out) => ({ ...out, amount: -out.amount })),
    ])
    .filter((one) => one.wallet === wallet);
  const expected = [...baseline.balances, ...moved];
  if (differencesOf(holdings, expected).length === 0)
    await ledger.baselines.take({ wallet, slot, balances: holdings, replaces: baseline.slot });
  return expected;
}
