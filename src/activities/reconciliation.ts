import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import pLimit from 'p-limit';
import type { Alarm } from '../domain/alerts.ts';
import { isDomainError } from '../domain/errors.ts';
import {
  type Difference,
  differencesOf,
  type Holding,
  NOTHING_RECONCILED,
  type ReconciledPage,
  type ReconciliationReport,
} from '../domain/reconciliation.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { holdingsOf, type WalletHoldings } from '../solana/scan/holdings.ts';
import { type ExpectationDeps, expectedOf } from './expected-holdings.ts';

export interface ReconciliationDeps extends Omit<ExpectationDeps, 'scannedTo'> {
  /** Whether a scan keeps the record of what comes and goes. Default: it does. */
  readonly scans?: boolean;
  /** How long the scan may take to come to what the nodes show. Default one hour: a round of many wallets is not ended by a short halt. */
  readonly patienceMs?: number;
}

/** A wallet as the chain shows it, and what it should hold at that slot. */
interface Compared extends WalletHoldings {
  readonly expected: readonly Holding[];
}

const KINDS = ['balance_difference', 'confidential_pending'] as const;
const WALLETS_AT_ONCE = 8;
const PAGE = 100;
const BEAT_MS = 2_000;
const WAIT_MS = 500;
const PATIENCE_MS = 3_600_000;

/** Holds the balances on chain against what is known to have come and gone. */
export function createReconciliation(deps: ReconciliationDeps) {
  const { ledger, pool, scans = true } = deps;
  return {
    /**
     * Compares all that some wallets, those behind `after`, hold at one slot with what had come and gone by then; without a scan only
     * those that we pay from, by what nodes list for them. A difference is an alert, and never a credit: a reward, something from before
     * it was watched, or a movement that was missed. May be repeated.
     */
    async reconcilePage(after: string | null): Promise<ReconciledPage> {
      const beat = setInterval(() => heartbeat(), BEAT_MS);
      try {
        const scannedTo = scans ? ((await ledger.scan.cursor())?.slot ?? null) : null;
        const unfinished = { ...NOTHING_RECONCILED, complete: false, next: null };
        if (scans && scannedTo === null) return unfinished;
        const wallets = await ledger.watched.page(after, PAGE, scans ? undefined : 'hot');
        const shown = (await pLimit(WALLETS_AT_ONCE).map(wallets, (one) => shownBy(pool, one))).flat();
        if (scans && !(await isScanned(deps, shown))) return unfinished;
        const compared = await expectations({ ...deps, scannedTo }, shown);
        const next = wallets.length < PAGE ? null : (wallets.at(-1) ?? null);
        return { ...(await compare(deps, compared)), unread: wallets.length - compared.length, next };
      } finally {
        clearInterval(beat);
      }
    },
  };
}

/** None where no node shows the wallet now: one that cannot be read keeps no other from being compared. */
async function shownBy(pool: NodePool, wallet: string): Promise<readonly WalletHoldings[]> {
  try {
    return [await holdingsOf(pool, wallet)];
  } catch {
    return [];
  }
}

/** Those of the wallets of which something can be expected now. */
async function expectations(
  deps: ExpectationDeps,
  shown: readonly WalletHoldings[],
): Promise<readonly Compared[]> {
  const kinds = await deps.ledger.watched.among(shown.map(({ wallet }) => wallet));
  const compared: Compared[] = [];
  for (const one of shown) {
    const kind = kinds.get(one.wallet) ?? 'deposit';
    const expected = await expectedOf(deps, kind, one).catch(unlisted);
    if (expected !== null) compared.push({ ...one, expected });
  }
  return compared;
}

/** Nodes that do not list now are asked in the next round; whatever else fails is not answered for. */
function unlisted(error: unknown): null {
  if (isDomainError(error, 'NoHealthyNode')) return null;
  throw error;
}

async function compare(
  { ledger }: ReconciliationDeps,
  compared: readonly Compared[],
): Promise<ReconciliationReport> {
  const alarms: Alarm[] = [];
  for (const { wallet, slot, holdings, pending, expected } of compared) {
    const differences = differencesOf(holdings, expected);
    alarms.push(...differences.map((one) => differenceAlarm(wallet, slot, one)));
    alarms.push(...pending.map((account) => confidentialAlarm(wallet, account)));
  }
  await ledger.alerts.keepOnly(
    KINDS,
    alarms,
    compared.map(({ wallet }) => wallet),
  );
  const differences = alarms.filter(({ kind }) => kind === 'balance_difference').length;
  return {
    ...NOTHING_RECONCILED,
    wallets: compared.length,
    accounts: compared.reduce((sum, { holdings }) => sum + holdings.length, 0),
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
    message: `${account} holds ${chain} of ${asset} at slot ${slot}; by what came and went it should be ${record}`,
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
