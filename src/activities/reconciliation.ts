import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import { type Difference, differencesOf, type ReconciliationReport } from '../domain/reconciliation.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { holdingsOf, type WalletHoldings } from '../solana/scan/holdings.ts';

export interface ReconciliationDeps {
  readonly ledger: Ledger;
  readonly pool: NodePool;
}

/** What was compared so far, and what people must know of it. */
interface Tally {
  wallets: number;
  accounts: number;
  readonly alarms: Alarm[];
}

const KINDS = ['balance_difference', 'confidential_pending'] as const;
const WALLETS_AT_ONCE = 8;
const PAGE = 100;
const BEAT_MS = 2_000;
const WAIT_MS = 500;

/** Holds the balances on chain against the record. */
export function createReconciliation(deps: ReconciliationDeps) {
  return {
    /**
     * Compares all that a deposit address holds at one slot with what had come and gone by then. A difference is an alert, and never
     * a credit: a reward, a permanent delegate's hand, something from before it was watched, or a deposit that was missed. Wallets
     * that we pay from held something before they were watched, and are not compared.
     */
    async reconcile(): Promise<ReconciliationReport> {
      const tally: Tally = { wallets: 0, accounts: 0, alarms: [] };
      const beat = setInterval(() => heartbeat(tally.wallets), BEAT_MS);
      try {
        for await (const wallets of pages(deps.ledger)) await reconcilePage(deps, wallets, tally);
        await deps.ledger.alerts.keepOnly(KINDS, tally.alarms);
      } finally {
        clearInterval(beat);
      }
      const { wallets, accounts, alarms } = tally;
      const differences = alarms.filter(({ kind }) => kind === 'balance_difference').length;
      return { wallets, accounts, differences, confidential: alarms.length - differences };
    },
  };
}

/** Deposit addresses, some at a time. */
async function* pages(ledger: Ledger): AsyncGenerator<readonly string[]> {
  let page: string[] = [];
  const take = async (): Promise<readonly string[]> => {
    const kinds = await ledger.watched.among(page);
    const wallets = page.filter((address) => kinds.get(address) === 'deposit');
    page = [];
    return wallets;
  };
  for await (const address of ledger.watched.stream()) {
    page.push(address);
    if (page.length === PAGE) yield await take();
  }
  if (page.length > 0) yield await take();
}

async function reconcilePage(
  { ledger, pool }: ReconciliationDeps,
  wallets: readonly string[],
  tally: Tally,
): Promise<void> {
  const shown = await pLimit(WALLETS_AT_ONCE).map(wallets, (wallet) => holdingsOf(pool, wallet));
  await scanned(ledger, shown);
  for (const { wallet, slot, holdings, pending } of shown) {
    const differences = differencesOf(holdings, await ledger.movements.balancesOf([wallet], slot));
    tally.wallets += 1;
    tally.accounts += holdings.length;
    tally.alarms.push(...differences.map((one) => differenceAlarm(wallet, slot, one)));
    tally.alarms.push(...pending.map((account) => confidentialAlarm(wallet, account)));
  }
}

/** Resolves where the cursor has passed every slot at which something was shown: only then the record can say the same. */
async function scanned(ledger: Ledger, shown: readonly WalletHoldings[]): Promise<void> {
  const newest = shown.reduce((high, { slot }) => (slot > high ? slot : high), 0n);
  for (;;) {
    const cursor = await ledger.scan.cursor();
    if (cursor !== null && cursor.slot >= newest) return;
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
