import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import pLimit from 'p-limit';
import { highest } from '../../domain/units.ts';
import type { UnreadWallet } from '../../ledger/reconciliation/reconciliations.ts';
import {
  groupsOf,
  holdingsOf,
  type WalletAccounts,
  type WalletHoldings,
} from '../../solana/history/balances.ts';
import { tokenAccountsAt } from '../../solana/history/token-accounts.ts';
import type { SolanaNode } from '../../solana/rpc/node.ts';
import type { NodePool } from '../../solana/rpc/pool.ts';
import { answersIn } from '../../solana/rpc/quorum.ts';
import { finalizedTip } from '../../solana/scan/frontier.ts';
import { derivedAccountsOf, nestedAccountsOf } from '../credits/derived-accounts.ts';
import {
  type Comparison,
  compareDepositWallets,
  compareHotWallets,
  type ExpectationDeps,
} from './expected-balances.ts';

export interface ComparisonDeps extends Omit<ExpectationDeps, 'scannedTo'> {
  /** True if the deposit scan runs, so that the database has the movements of the wallets. Default true. */
  readonly isScanning?: boolean;
  /**
   * Maximum time to wait for the scan. Default one hour, so that a short stop of the scan does not end a long round.
   */
  readonly maxWaitMs?: number;
}

export interface Comparisons {
  readonly comparisons: readonly Comparison[];
  readonly unread: readonly UnreadWallet[];
}

/** The deposit scan did not reach the slot of the nodes' balances within `maxWaitMs`. */
export class ScanBehindError extends Error {}

/** Asks all nodes or one node, and returns the answers of those that do not fail. */
type AskNodes = <T>(ask: (node: SolanaNode) => Promise<T>) => Promise<readonly T[]>;

const MAX_CONCURRENT_REQUESTS = 8;
const POLL_MS = 500;
const MAX_WAIT_MS = 3_600_000;
/**
 * Honest nodes are at most this many slots above the finalized slot of a quorum. Answers for later slots are ignored.
 */
const MAX_SLOTS_ABOVE_QUORUM = 128n;

/**
 * Compares the balances of `wallets` with the recorded movements. Returns a comparison for each wallet, or the reason
 * why there is none.
 *
 * In each pass, one node lists the token accounts and the balances of deposit addresses. The node changes with each
 * pass, so that a lying node can hide a difference for one pass only. For hot wallets a quorum must agree on the
 * difference, because these balances are stored as the next baseline.
 *
 * @throws ScanBehindError
 * @throws NoHealthyNode if no quorum returns its finalized slot
 */
export async function compareWallets(
  deps: ComparisonDeps,
  wallets: readonly string[],
  pass: bigint,
): Promise<Comparisons> {
  const { ledger, pool, isScanning = true } = deps;
  const scannedTo = isScanning ? ((await ledger.scan.cursor())?.slot ?? null) : null;
  if (isScanning && scannedTo === null)
    throw new ScanBehindError('the deposit scan has not read any block yet');
  const kinds = await ledger.watched.watchKindsOf(wallets);
  const oneNode = nodeInTurn(pool, pass);
  const { readable, unread } = await accountsOf(deps, wallets, oneNode);
  const isHot = ({ wallet }: Pick<WalletAccounts, 'wallet'>) => kinds.get(wallet) === 'hot';
  const isDepositWallet = (one: Pick<WalletAccounts, 'wallet'>) => !isHot(one);
  const [hotWallets, depositWallets] = [readable.filter(isHot), readable.filter(isDepositWallet)];
  const answers = [
    ...(await holdingsBy(allNodes(pool), hotWallets)),
    ...(await holdingsBy(oneNode, depositWallets)),
  ];
  const newest = isScanning ? (await finalizedTip(pool)) + MAX_SLOTS_ABOVE_QUORUM : null;
  const usableHoldings = newest === null ? answers : answers.filter(({ slot }) => slot <= newest);
  if (isScanning) await waitUntilScanned(deps, usableHoldings);
  const comparisons = [
    ...(await compareDepositWallets(deps, usableHoldings.filter(isDepositWallet))),
    ...(await compareHotWallets({ ...deps, scannedTo }, usableHoldings.filter(isHot))),
  ];
  const compared = new Set(comparisons.map(({ wallet }) => wallet));
  const withoutComparison = (of: readonly WalletAccounts[], reason: string) =>
    of.filter(({ wallet }) => !compared.has(wallet)).map(({ wallet }) => ({ wallet, reason }));
  return {
    comparisons,
    unread: [
      ...unread,
      ...withoutComparison(depositWallets, 'no node returns the balances of the wallet'),
      ...withoutComparison(
        hotWallets,
        'no quorum of nodes agrees on the balances and movements of the wallet',
      ),
    ],
  };
}

function allNodes(pool: NodePool): AskNodes {
  return async (ask) => answersIn(await pool.all(ask)).map(({ answer }) => answer);
}

/**
 * Asks the node of this pass. If that node fails, asks the next nodes, and asks the failed node last in later calls.
 */
function nodeInTurn(pool: NodePool, pass: bigint): AskNodes {
  const names = pool.nodes.map(({ name }) => name).toSorted();
  const first = Number(pass % BigInt(names.length));
  const nodeOrder = [...names.slice(first), ...names.slice(0, first)];
  return async (ask) => {
    for (const name of nodeOrder.slice()) {
      const [answered] = answersIn(await pool.all(ask, (node) => node.name === name));
      if (answered !== undefined) return [answered.answer];
      nodeOrder.push(...nodeOrder.splice(nodeOrder.indexOf(name), 1));
    }
    return [];
  };
}

/** The token accounts to compare for each wallet: derived accounts, recorded accounts, and those that a node lists. */
async function accountsOf({ ledger }: ComparisonDeps, wallets: readonly string[], askNodes: AskNodes) {
  const assets = await ledger.assets.list();
  const recorded = await ledger.movements.accountsOf(wallets);
  const unread: UnreadWallet[] = [];
  const readable = await pLimit(MAX_CONCURRENT_REQUESTS).map(
    [...wallets],
    async (wallet): Promise<WalletAccounts[]> => {
      const [listed] = await askNodes((node) => tokenAccountsAt(node, wallet));
      if (listed === undefined) {
        unread.push({ wallet, reason: 'no node lists the token accounts of the wallet' });
        return [];
      }
      const derived = derivedAccountsOf(assets, wallet);
      const accounts = new Set([...derived, ...(recorded.get(wallet) ?? []), ...listed.accounts]);
      accounts.delete(wallet);
      const nested = nestedAccountsOf(assets, wallet);
      for (const account of nested.keys()) accounts.delete(account);
      return [{ wallet, tokenAccounts: [...accounts], nested }];
    },
  );
  return { readable: readable.flat(), unread };
}

async function holdingsBy(
  askNodes: AskNodes,
  wallets: readonly WalletAccounts[],
): Promise<readonly WalletHoldings[]> {
  const holdings = await pLimit(MAX_CONCURRENT_REQUESTS).map([...groupsOf(wallets)], (group) =>
    askNodes((node) => holdingsOf(node, group)),
  );
  return holdings.flat(2);
}

/**
 * Waits until the cursor has reached the slot of every answer, because the recorded movements are incomplete before.
 */
async function waitUntilScanned(
  { ledger, maxWaitMs = MAX_WAIT_MS }: ComparisonDeps,
  usable: readonly WalletHoldings[],
): Promise<void> {
  const newest = highest([0n, ...usable.map(({ slot }) => slot)]);
  for (const until = performance.now() + maxWaitMs; ; ) {
    const cursor = await ledger.scan.cursor();
    if (cursor !== null && cursor.slot >= newest) return;
    if (performance.now() >= until)
      throw new ScanBehindError(`the deposit scan has not reached slot ${newest}`);
    await sleep(POLL_MS, undefined, { signal: cancellationSignal() });
  }
}
