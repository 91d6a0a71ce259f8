import type { WatchKind } from '../../domain/deposit.ts';
import { isDomainError } from '../../domain/errors.ts';
import { differencesOf, type Holding, type View } from '../../domain/reconciliation.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Baseline } from '../../ledger/reconciliation/baselines.ts';
import type { WalletHoldings } from '../../solana/history/balances.ts';
import { type HistoryDeps, listedFor } from '../backfill/address-history.ts';
import { derivedAccountsOf } from '../credits/derived-accounts.ts';

export interface ExpectationDeps extends HistoryDeps {
  readonly ledger: Ledger;
  /** The slot to which blocks were scanned before the chain was asked; null where no scan keeps the record. */
  readonly scannedTo: bigint | null;
}

/** What a node shows of a wallet, held against what had come and gone by then. */
export interface Look extends WalletHoldings, View {
  /** What a hot wallet is compared from on, null where that was not taken yet; deposit addresses begin with nothing, and have none. */
  readonly baseline?: Baseline | null;
}

/** The looks at those of which something can be said at the slot at which they were shown. */
export async function heldAgainstRecord(
  deps: ExpectationDeps,
  shown: readonly WalletHoldings[],
): Promise<readonly Look[]> {
  const kinds = await deps.ledger.watched.among([...new Set(shown.map(({ wallet }) => wallet))]);
  const of = (kind: WatchKind) => shown.filter(({ wallet }) => kinds.get(wallet) === kind);
  const looks: Look[] = [...(await depositLooks(deps, of('deposit')))];
  for (const one of of('hot')) {
    const look = await hotLook(deps, one);
    if (look !== null) looks.push(look);
  }
  return looks;
}

/** All that had come to deposit addresses and left them: one question for all that were shown at one slot. */
async function depositLooks(
  { ledger }: ExpectationDeps,
  shown: readonly WalletHoldings[],
): Promise<readonly Look[]> {
  const looks: Look[] = [];
  for (const slot of new Set(shown.map((one) => one.slot))) {
    const ofSlot = shown.filter((one) => one.slot === slot);
    const record = new Map<string, Holding[]>(ofSlot.map(({ wallet }) => [wallet, []]));
    for (const { wallet, ...sum } of await ledger.movements.balancesOf([...record.keys()], slot))
      record.get(wallet)?.push(sum);
    for (const one of ofSlot)
      looks.push({ ...one, differences: differencesOf(one.holdings, record.get(one.wallet) ?? []) });
  }
  return looks;
}

/** Null where nothing can be said of its slot, or nodes do not list now what moved. */
async function hotLook(deps: ExpectationDeps, shown: WalletHoldings): Promise<Look | null> {
  const baseline = await deps.ledger.baselines.of(shown.wallet);
  const record = await expectedOf(deps, baseline, shown).catch(unlisted);
  return record === null ? null : { ...shown, baseline, differences: differencesOf(shown.holdings, record) };
}

function unlisted(error: unknown): null {
  if (isDomainError(error, 'NoHealthyNode')) return null;
  throw error;
}

/**
 * What a hot wallet should hold: its baseline, and what moved since. Without one all that is known to have moved, so that what differs
 * is what it held before: that is the same at every slot, and can be agreed on.
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
    // Every block behind the baseline must be one that is scanned.
    return slot < scannedTo ? null : ledger.movements.balancesOf([wallet], slot);
  }
  if (slot < baseline.slot) return null;
  if (scannedTo === null) return expectedByHistory(deps, baseline, shown);
  const moved = await ledger.movements.balancesOf([wallet], slot, baseline.slot);
  return [...baseline.balances, ...moved];
}

/** By what nodes list for the wallet since its baseline, null where they do not show all of it. */
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
 * Takes the baseline of a hot wallet from what a quorum agreed on: the first one, and a newer one where the one before explains all, so
 * that the next look sums up, or lists, only what moved since. A deposit address has none.
 *
 * Returns the look as it counts: the first one differs in nothing. Null where that cannot be taken now.
 */
export async function takeBaseline(
  { ledger }: Pick<ExpectationDeps, 'ledger'>,
  look: Look,
): Promise<Look | null> {
  const { wallet, slot, holdings: balances, baseline, differences } = look;
  if (baseline === undefined) return look;
  if (baseline === null) {
    const taken = await ledger.baselines.take({ wallet, slot, balances, replaces: null });
    return taken ? { ...look, differences: [] } : null;
  }
  if (differences.length === 0)
    await ledger.baselines.take({ wallet, slot, balances, replaces: baseline.slot });
  return look;
}
