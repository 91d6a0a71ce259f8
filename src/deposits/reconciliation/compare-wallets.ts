import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import pLimit from 'p-limit';
import { highest } from '../../domain/bigint.ts';
import { messageOf } from '../../domain/errors.ts';
import { agreedOn } from '../../domain/reconciliation.ts';
import type { UnreadWallet } from '../../ledger/reconciliation/reconciliations.ts';
import {
  groupsOf,
  holdingsOf,
  type WalletAccounts,
  type WalletHoldings,
} from '../../solana/history/balances.ts';
import { hintedTokenAccountsOf } from '../../solana/history/token-accounts.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { reached } from '../../solana/rpc/quorum.ts';
import { derivedAccountsOf, nestedAccountsOf } from '../credits/derived-accounts.ts';
import { type ExpectationDeps, heldAgainstRecord, type Look, takeBaseline } from './expected-balances.ts';

export interface LookDeps extends Omit<ExpectationDeps, 'scannedTo'> {
  /** True if a scan runs, so that the database has the movements. Default true. */
  readonly scans?: boolean;
  /** Milliseconds to wait for the scan. Default one hour: a short stop must not end a long round. */
  readonly patienceMs?: number;
}

export interface Looks {
  readonly looks: readonly Look[];
  readonly unread: readonly UnreadWallet[];
}

/** The scan did not reach the slot of the nodes' answers in time. */
export class ScanBehind extends Error {}

const AT_ONCE = 8;
const WAIT_MS = 500;
const PATIENCE_MS = 3_600_000;
/** Honest nodes are at most this many slots apart; answers from further ahead are ignored. */
const APART_SLOTS = 128n;

/**
 * Compares wallet balances, as a quorum of nodes returns them, with the recorded movements.
 *
 * One node lists the token accounts. Each node is then asked for the listed, derived and recorded ones. If
 * the first answers differ, all nodes are awaited.
 *
 * Returns a result for each wallet, or why there is no quorum. Throws ScanBehind.
 */
export async function lookAt(deps: LookDeps, wallets: readonly string[]): Promise<Looks> {
  const { named, unread } = await accountsOf(deps, wallets);
  const first = await agreedBy(deps, 'most', named);
  const open = named.filter(({ wallet }) => first.unread.some((one) => one.wallet === wallet));
  const second = await agreedBy(deps, 'all', open);
  return { looks: [...first.looks, ...second.looks], unread: [...unread, ...second.unread] };
}

/** Token accounts to compare for each wallet: derived, recorded, and listed by one node. */
async function accountsOf({ ledger, pool }: LookDeps, wallets: readonly string[]) {
  const assets = await ledger.assets.list();
  const known = await ledger.movements.accountsOf(wallets);
  const unread: UnreadWallet[] = [];
  const named = await pLimit(AT_ONCE).map([...wallets], async (wallet): Promise<WalletAccounts[]> => {
    try {
      const listed = await hintedTokenAccountsOf(pool, wallet);
      const derived = derivedAccountsOf(assets, wallet);
      const accounts = new Set([...derived, ...(known.get(wallet) ?? []), ...listed]);
      accounts.delete(wallet);
      const nested = nestedAccountsOf(assets, wallet);
      for (const account of nested.keys()) accounts.delete(account);
      return [{ wallet, tokenAccounts: [...accounts], nested }];
    } catch (error) {
      unread.push({ wallet, reason: `no node names its token accounts: ${messageOf(error)}` });
      return [];
    }
  });
  return { named: named.flat(), unread };
}

/** Results that a quorum agrees on, among the first nodes to answer or among all. */
async function agreedBy(
  deps: LookDeps,
  asked: 'most' | 'all',
  wallets: readonly WalletAccounts[],
): Promise<Looks> {
  if (wallets.length === 0) return { looks: [], unread: [] };
  const { ledger, pool, scans = true } = deps;
  const scannedTo = scans ? ((await ledger.scan.cursor())?.slot ?? null) : null;
  if (scans && scannedTo === null) throw new ScanBehind('nothing was scanned yet');
  const shown = believable(pool.quorum, await shownBy(pool, asked, wallets));
  if (scans) await waitUntilScanned(deps, shown);
  const expectation = { ...deps, scannedTo };
  const byWallet = grouped(await heldAgainstRecord(expectation, shown));
  const looks: Look[] = [];
  const unread: UnreadWallet[] = [];
  for (const { wallet } of wallets) {
    const views = byWallet.get(wallet) ?? [];
    const agreed = agreedOn(pool.quorum, views);
    const look = agreed === null ? null : await takeBaseline(deps, agreed);
    if (look !== null) looks.push(look);
    else unread.push({ wallet, reason: unreadReason(views.length < pool.quorum) });
  }
  return { looks, unread };
}

function unreadReason(tooFew: boolean): string {
  return tooFew
    ? 'no quorum of the nodes shows what it holds, and what moved'
    : 'the nodes contradict each other about what it holds';
}

async function shownBy(
  pool: NodePool,
  asked: 'most' | 'all',
  wallets: readonly WalletAccounts[],
): Promise<readonly WalletHoldings[]> {
  const answers = await pLimit(AT_ONCE).map([...groupsOf(wallets)], (group) =>
    pool[asked]((node) => holdingsOf(node, group)),
  );
  return answers.flat().flatMap(({ result }) => (result.status === 'fulfilled' ? result.value : []));
}

/** Drops answers far above the quorum's slot, so that one node cannot stop the comparison. */
function believable(quorum: number, shown: readonly WalletHoldings[]): readonly WalletHoldings[] {
  return [...grouped(shown).values()].flatMap((ofWallet) => {
    const slots = ofWallet.map(({ slot }) => slot);
    const common = reached(slots, quorum);
    return common === null ? [] : ofWallet.filter(({ slot }) => slot <= common + APART_SLOTS);
  });
}

function grouped<T extends WalletHoldings>(shown: readonly T[]): ReadonlyMap<string, readonly T[]> {
  const byWallet = new Map<string, T[]>();
  for (const one of shown) {
    const ofWallet = byWallet.get(one.wallet);
    if (ofWallet === undefined) byWallet.set(one.wallet, [one]);
    else ofWallet.push(one);
  }
  return byWallet;
}

/** Waits until the cursor has passed the slot of every answer; before that the movements are incomplete. */
async function waitUntilScanned(
  { ledger, patienceMs = PATIENCE_MS }: LookDeps,
  shown: readonly WalletHoldings[],
): Promise<void> {
  const newest = highest([0n, ...shown.map(({ slot }) => slot)]);
  for (const until = performance.now() + patienceMs; ; ) {
    const cursor = await ledger.scan.cursor();
    if (cursor !== null && cursor.slot >= newest) return;
    if (performance.now() >= until) throw new ScanBehind(`the scan has not come to slot ${newest}`);
    await sleep(WAIT_MS, undefined, { signal: cancellationSignal() });
  }
}
