import { type LookDeps, lookAt, ScanBehind } from '../deposits/reconciliation/compare-wallets.ts';
import type { Look } from '../deposits/reconciliation/expected-balances.ts';
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

export interface ReconciliationDeps extends LookDeps {
  /** Wallets per page. Default 1,000. */
  readonly pageSize?: number;
}

const DEFAULT_PAGE_SIZE = 1_000;
/** Unread wallets that are compared again with each page. Limited, so that the pass still reaches the other wallets. */
const MAX_RETRIED_WALLETS = 200;

export function createReconciliation(deps: ReconciliationDeps) {
  const { ledger, scans = true, pageSize = DEFAULT_PAGE_SIZE } = deps;
  const walletKind = scans ? undefined : 'hot';

  /** Also compares wallets that an earlier page could not compare. */
  async function compareNextPage(passCursor: PassCursor): Promise<ReconciledPage> {
    const page = await ledger.watched.page(passCursor.after, pageSize, walletKind);
    const retriedWallets = await ledger.reconciliations.due(MAX_RETRIED_WALLETS, walletKind);
    const { looks, unread } = await lookAt(
      deps,
      [...new Set([...page, ...retriedWallets])],
      passCursor.passes,
    );
    for (const look of looks) await recordNested(deps, look);
    const listedAssets = new Set((await ledger.assets.list()).map(({ asset }) => asset));
    const next = page.length < pageSize ? null : (page.at(-1) ?? null);
    const alarms = looks.flatMap((look) => alarmsOf(look, listedAssets));
    const comparedWallets = looks.map(({ wallet }) => wallet);
    const tally = tallyOf(looks);
    if (
      !(await ledger.reconciliations.commit(passCursor, {
        next,
        compared: comparedWallets,
        tally,
        alarms,
        unread,
      }))
    )
      throw new DomainError(
        'Unavailable',
        'another reconciliation run has already compared this page of wallets',
      );
    const confidential = sumOf(looks, ({ pending }) => pending.length);
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
        await ledger.reconciliations.updateBehindAlert(walletKind);
        try {
          return await compareNextPage(place);
        } catch (error) {
          if (!(error instanceof ScanBehind)) throw error;
          await ledger.reconciliations.halt(place, error.message);
          return { ...NOTHING_RECONCILED, complete: false, next: null };
        } finally {
          await ledger.reconciliations.updateBehindAlert(walletKind);
        }
      });
    },
  };
}

function tallyOf(looks: readonly Look[]): Tally {
  return {
    wallets: looks.length,
    accounts: sumOf(looks, ({ holdings }) => holdings.length),
    differences: sumOf(looks, ({ differences }) => differences.length),
  };
}

function sumOf(looks: readonly Look[], count: (look: Look) => number): number {
  return looks.reduce((total, one) => total + count(one), 0);
}

/** Frozen accounts raise an alert only for listed mints: anyone can send tokens of their own mint and freeze them. */
function alarmsOf(
  { wallet, slot, differences, pending, frozen, nested }: Look,
  listedAssets: ReadonlySet<string>,
): readonly Alarm[] {
  return [
    ...frozen.filter(({ mint }) => listedAssets.has(mint)).map((one) => frozenAlarm(wallet, one)),
    ...nested.map((one) => nestedAlarm(wallet, one)),
    ...differences.map((one) => differenceAlarm(wallet, slot, one)),
    ...pending.map((account) => confidentialAlarm(wallet, account)),
  ];
}

function differenceAlarm(wallet: string, slot: bigint, { account, asset, chain, record }: Difference): Alarm {
  return {
    kind: 'balance_difference',
    subject: `${account}/${asset}`,
    message: `account ${account} holds ${chain} base units of ${asset} at slot ${slot}; the recorded deposits and withdrawals add up to ${record}`,
    details: { wallet, slot: slot.toString(), chain: chain.toString(), record: record.toString() },
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
