import {
  type ComparisonDeps,
  compareWallets,
  ScanBehindError,
} from '../deposits/reconciliation/compare-wallets.ts';
import type { Comparison } from '../deposits/reconciliation/expected-balances.ts';
import { recordNested } from '../deposits/reconciliation/nested-tokens.ts';
import type { Alarm } from '../domain/alerts.ts';
import { DomainError } from '../domain/errors.ts';
import {
  type Difference,
  NOTHING_RECONCILED,
  type ReconciledPage,
  type Tally,
  type TokenPlace,
} from '../domain/reconciliation.ts';
import type { PassCursor } from '../ledger/reconciliation/reconciliations.ts';
import { withHeartbeat } from './heartbeat.ts';

export interface ReconciliationDeps extends ComparisonDeps {
  /** Wallets per page. Default 1,000. */
  readonly pageSize?: number;
}

const DEFAULT_PAGE_SIZE = 1_000;
/** Unread wallets that are compared again with each page. Limited, so that the pass still reaches the other wallets. */
const MAX_RETRIED_WALLETS = 200;

export function createReconciliation(deps: ReconciliationDeps) {
  const { ledger, isScanning = true, pageSize = DEFAULT_PAGE_SIZE } = deps;
  const kind = isScanning ? undefined : 'hot';

  /** Also compares wallets that an earlier page could not compare. */
  async function compareNextPage(place: PassCursor): Promise<ReconciledPage> {
    const page = await ledger.watched.page(place.after, pageSize, kind);
    const retriedWallets = await ledger.reconciliations.due(MAX_RETRIED_WALLETS, kind);
    const wallets = [...new Set([...page, ...retriedWallets])];
    const { comparisons, unread } = await compareWallets(deps, wallets, place.passes);
    for (const comparison of comparisons) await recordNested(deps, comparison);
    const listedAssets = new Set((await ledger.assets.list()).map(({ asset }) => asset));
    const next = page.length < pageSize ? null : (page.at(-1) ?? null);
    const alarms = comparisons.flatMap((comparison) => alarmsOf(comparison, listedAssets));
    const compared = comparisons.map(({ wallet }) => wallet);
    const tally = tallyOf(comparisons);
    if (!(await ledger.reconciliations.commit(place, { next, compared, tally, alarms, unread })))
      throw new DomainError(
        'Unavailable',
        'another reconciliation run has already compared this page of wallets',
      );
    const confidential = sumOf(comparisons, ({ pending }) => pending.length);
    return { ...tally, confidential, unread: unread.length, complete: true, next };
  }

  return {
    /**
     * Compares the next page of wallets after the stored position. Without a deposit scan, compares only hot wallets,
     * with the transactions that nodes list. A difference raises an alert but credits nothing: its cause can be a
     * reward, a balance from before the wallet was watched, or a missed movement. Wallets that have not been compared
     * for a long time raise an alert, too.
     */
    reconcilePage(): Promise<ReconciledPage> {
      return withHeartbeat(async () => {
        const place = await ledger.reconciliations.begin();
        await ledger.reconciliations.updateBehindAlert(kind);
        try {
          return await compareNextPage(place);
        } catch (error) {
          if (!(error instanceof ScanBehindError)) throw error;
          await ledger.reconciliations.halt(place, error.message);
          return { ...NOTHING_RECONCILED, complete: false, next: null };
        } finally {
          await ledger.reconciliations.updateBehindAlert(kind);
        }
      });
    },
  };
}

function tallyOf(comparisons: readonly Comparison[]): Tally {
  return {
    wallets: comparisons.length,
    accounts: sumOf(comparisons, ({ holdings }) => holdings.length),
    differences: sumOf(comparisons, ({ differences }) => differences.length),
  };
}

function sumOf(comparisons: readonly Comparison[], count: (comparison: Comparison) => number): number {
  return comparisons.reduce((total, one) => total + count(one), 0);
}

/** Frozen accounts raise an alert only for listed mints: anyone can send tokens of their own mint and freeze them. */
function alarmsOf(
  { wallet, slot, differences, pending, frozen, nested }: Comparison,
  listedAssets: ReadonlySet<string>,
): readonly Alarm[] {
  return [
    ...frozen.filter(({ mint }) => listedAssets.has(mint)).map((one) => frozenAlarm(wallet, one)),
    ...nested.map((one) => nestedAlarm(wallet, one)),
    ...differences.map((one) => differenceAlarm(wallet, slot, one)),
    ...pending.map((account) => confidentialAlarm(wallet, account)),
  ];
}

function differenceAlarm(wallet: string, slot: bigint, { account, asset, chain, stored }: Difference): Alarm {
  return {
    kind: 'balance_difference',
    subject: `${account}/${asset}`,
    message: `account ${account} holds ${chain} base units of ${asset} at slot ${slot}; the recorded deposits and withdrawals add up to ${stored}`,
    details: { wallet, slot: slot.toString(), chain: chain.toString(), stored: stored.toString() },
  };
}

function frozenAlarm(wallet: string, { account, mint, amount }: TokenPlace): Alarm {
  return {
    kind: 'deposit_account_frozen',
    subject: account,
    message: `the issuer of mint ${mint} has frozen token account ${account} of wallet ${wallet}, which holds ${amount} base units that cannot be moved. Ask the issuer to thaw the account`,
    details: { wallet, mint, amount: amount.toString() },
  };
}

function nestedAlarm(wallet: string, { account, mint, amount }: TokenPlace): Alarm {
  return {
    kind: 'nested_tokens',
    subject: account,
    message: `token account ${account} holds ${amount} base units of ${mint}, but its owner is a token account of wallet ${wallet}: no user is credited. The wallet can recover the tokens with RecoverNested`,
    details: { wallet, mint, amount: amount.toString() },
  };
}

function confidentialAlarm(wallet: string, account: string): Alarm {
  return {
    kind: 'confidential_pending',
    subject: account,
    message: `token account ${account} has pending confidential transfers, whose amounts are hidden until the account's owner applies the pending balance`,
    details: { wallet },
  };
}
