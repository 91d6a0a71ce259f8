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

const PAGE = 1_000;
/** Unread wallets retried with each page. Limited, so that they do not stop the pass. */
const AGAIN = 200;

export function createReconciliation(deps: ReconciliationDeps) {
  const { ledger, isScanning = true, pageSize = PAGE } = deps;
  const kind = isScanning ? undefined : 'hot';

  /** Compares the next page, and wallets that could not be compared before. */
  async function compare(place: PassCursor): Promise<ReconciledPage> {
    const page = await ledger.watched.page(place.after, pageSize, kind);
    const again = await ledger.reconciliations.due(AGAIN, kind);
    const { comparisons, unread } = await compareWallets(
      deps,
      [...new Set([...page, ...again])],
      place.passes,
    );
    for (const look of comparisons) await recordNested(deps, look);
    const listed = new Set((await ledger.assets.list()).map(({ asset }) => asset));
    const next = page.length < pageSize ? null : (page.at(-1) ?? null);
    const alarms = comparisons.flatMap((look) => alarmsOf(look, listed));
    const compared = comparisons.map(({ wallet }) => wallet);
    const tally = tallyOf(comparisons);
    if (!(await ledger.reconciliations.commit(place, { next, compared, tally, alarms, unread })))
      throw new DomainError('Unavailable', 'another run has compared these wallets meanwhile');
    const confidential = sumOf(comparisons, ({ pending }) => pending.length);
    return { ...tally, confidential, unread: unread.length, complete: true, next };
  }

  return {
    /**
     * Compares the next page of wallets after the stored position. Without a scan: only paying wallets, by the
     * transactions that nodes list. A difference raises an alert and never credits: it may be a reward, a balance from
     * before the wallet was watched, or a missed movement. Wallets not compared for long raise an alert too.
     */
    reconcilePage(): Promise<ReconciledPage> {
      return withHeartbeat(async () => {
        const place = await ledger.reconciliations.begin();
        await ledger.reconciliations.updateBehindAlert(kind);
        try {
          return await compare(place);
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

function sumOf(comparisons: readonly Comparison[], count: (look: Comparison) => number): number {
  return comparisons.reduce((total, one) => total + count(one), 0);
}

/** Reports frozen accounts of listed mints only: a stranger may send us tokens of its own mint and freeze them. */
function alarmsOf(
  { wallet, slot, differences, pending, frozen, nested }: Comparison,
  listed: ReadonlySet<string>,
): readonly Alarm[] {
  return [
    ...frozen.filter(({ mint }) => listed.has(mint)).map((one) => frozenAlarm(wallet, one)),
    ...nested.map((one) => nestedAlarm(wallet, one)),
    ...differences.map((one) => differenceAlarm(wallet, slot, one)),
    ...pending.map((account) => confidentialAlarm(wallet, account)),
  ];
}

function differenceAlarm(wallet: string, slot: bigint, { account, asset, chain, record }: Difference): Alarm {
  return {
    kind: 'balance_difference',
    subject: `${account}/${asset}`,
    message: `account ${account} holds ${chain} of ${asset} at slot ${slot}; recorded deposits and withdrawals add up to ${record}`,
    details: { wallet, slot: slot.toString(), chain: chain.toString(), record: record.toString() },
  };
}

function frozenAlarm(wallet: string, { account, mint, amount }: TokenPlace): Alarm {
  return {
    kind: 'deposit_account_frozen',
    subject: account,
    message: `the issuer of ${mint} has frozen the token account ${account} of ${wallet}, which holds ${amount}: nothing can be moved out of it. Ask the issuer to thaw it`,
    details: { wallet, mint, amount: amount.toString() },
  };
}

function nestedAlarm(wallet: string, { account, mint, amount }: TokenPlace): Alarm {
  return {
    kind: 'nested_tokens',
    subject: account,
    message: `${account} holds ${amount} of ${mint} and is owned by a token account of ${wallet}, not by the wallet: no user is credited. The wallet can recover them with RecoverNested`,
    details: { wallet, mint, amount: amount.toString() },
  };
}

function confidentialAlarm(wallet: string, account: string): Alarm {
  return {
    kind: 'confidential_pending',
    subject: account,
    message: `${account} has pending confidential transfers: their amounts are hidden until its owner applies the pending balance`,
    details: { wallet },
  };
}
