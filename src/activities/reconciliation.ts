import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import {
  type Difference,
  differencesOf,
  NOTHING_RECONCILED,
  type ReconciledPage,
  type ReconciliationReport,
} from '../domain/reconciliation.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { holdingsOf, type WalletHoldings } from '../solana/scan/holdings.ts';

export interface ReconciliationDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
  /** How long the scan may take to come to what the nodes show. Default one minute. */
  readonly patienceMs?: number;
}

const KINDS = ['balance_difference', 'confidential_pending'] as const;
const WALLETS_AT_ONCE = 8;
const PAGE = 100;
const BEAT_MS = 2_000;
const WAIT_MS = 500;
const PATIENCE_MS = 60_000;

/** Holds the balances on chain against the record. */
export function createReconciliation(deps: ReconciliationDeps) {
  return {
    /**
     * Compares all that some deposit addresses, those behind `after`, hold at one slot with what had come and gone by then. A difference
     * is an alert, and never a credit: a reward, a permanent delegate's hand, something from before it was watched, or a deposit that was
     * missed. Wallets that we pay from held something before they were watched, and are not compared. May be repeated.
     */
    async reconcilePage(after: string | null): Promise<ReconciledPage> {
      const beat = setInterval(() => heartbeat(), BEAT_MS);
      try {
        const wallets = await deps.ledger.watched.page(after, PAGE, 'deposit');
        const shown = (await pLimit(WALLETS_AT_ONCE).map(wallets, (one) => shownBy(deps, one))).flat();
        const unread = wallets.length - shown.length;
        if (!(await isScanned(deps, shown))) return { ...NOTHING_RECONCILED, complete: false, next: null };
        const next = wallets.length < PAGE ? null : (wallets.at(-1) ?? null);
        return { ...(await compare(deps.ledger, shown)), unread, next };
      } finally {
        clearInterval(beat);
      }
    },
  };
}

/** None where no node shows the wallet now: one that cannot be read keeps no other from being compared. */
async function shownBy({ pool }: ReconciliationDeps, wallet: string): Promise<readonly WalletHoldings[]> {
  try {
    return [await holdingsOf(pool, wallet)];
  } catch {
    return [];
  }
}

async function compare(ledger: Ledger, shown: readonly WalletHoldings[]): Promise<ReconciliationReport> {
  const alarms: Alarm[] = [];
  for (const { wallet, slot, holdings, pending } of shown) {
    const differences = differencesOf(holdings, await ledger.movements.balancesOf([wallet], slot));
    alarms.push(...differences.map((one) => differenceAlarm(wallet, slot, one)));
    alarms.push(...pending.map((account) => confidentialAlarm(wallet, account)));
  }
  const wallets = shown.map(({ wallet }) => wallet);
  await ledger.alerts.keepOnly(KINDS, alarms, wallets);
  const differences = alarms.filter(({ kind }) => kind === 'balance_difference').length;
  return {
    ...NOTHING_RECONCILED,
    wallets: shown.length,
    accounts: shown.reduce((sum, { holdings }) => sum + holdings.length, 0),
    differences,
    confidential: alarms.length - differences,
  };
}

/** True once the cursor has passed every slot at which something was shown: only then the record can say the same. */
async function isScanned(
  { ledger, patienceMs = PATIENCE_MS }: ReconciliationDeps,
  shown: readonly WalletHoldings[],
): Promise<boolean> {
  const newest = shown.reduce((high, { slot }) => (slot > high ? slot : high), 0n);
  for (const until = performance.now() + patienceMs; ; ) {
    const cursor = await ledger.scan.cursor();
    if (cursor !== null && cursor.slot >= newest) return true;
    if (performance.now() >= until) return false;
    await sleep(WAIT_MS, undefined, { signal: cancellationSignal() });
  }
}

function differenceAlarm(wallet: string, slot: bigint, { account, asset, chain, record }: Difference): Alarm {
  return {
    kind: 'balance_difference',
    subject: `${account}/${asset}`,
    message: `${account} holds ${chain} of ${asset} at slot ${slot}; by the record it should be ${record}`,
    details: { wallet, slot: slot.toString(), chain: chain.toString(), record: record.toString() },
  };
}

function confidentialAlarm(wallet: string, account: string): Alarm {
  return {
    kind: 'confidential_pending',
    subject: account,
    message: `confidential transfers wait in ${account}: its owner must apply the pending balance to see them`,
    details: { wallet },
  };
}
