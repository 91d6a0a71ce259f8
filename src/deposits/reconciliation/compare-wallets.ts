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
import { depositLooks, type ExpectationDeps, hotLooks, type Look } from './expected-balances.ts';

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

/** Values of the nodes that answer: of all nodes, or of one. */
type AskNodes = <T>(ask: (node: SolanaNode) => Promise<T>) => Promise<readonly T[]>;

const AT_ONCE = 8;
const WAIT_MS = 500;
const PATIENCE_MS = 3_600_000;
/** Honest nodes are at most this many slots above the finalized slot of a quorum; other answers are ignored. */
const APART_SLOTS = 128n;

/**
 * Compares wallet balances with the recorded movements. Returns a result for each wallet, or why there is none.
 *
 * One node lists the token accounts and the balances of deposit addresses, in the next pass the next node: a lying
 * node can hide a difference for one pass only. Balances of hot wallets count if a quorum agrees on the difference,
 * because they are stored as the next baseline.
 *
 * @throws ScanBehind
 * @throws NoHealthyNode if no quorum returns its finalized slot
 */
export async function lookAt(deps: LookDeps, wallets: readonly string[], pass: bigint): Promise<Looks> {
  const { ledger, pool, scans = true } = deps;
  const scannedTo = scans ? ((await ledger.scan.cursor())?.slot ?? null) : null;
  if (scans && scannedTo === null) throw new ScanBehind('nothing was scanned yet');
  const kinds = await ledger.watched.watchKindsOf(wallets);
  const oneNode = nodeInTurn(pool, pass);
  const { named, unread } = await accountsOf(deps, wallets, oneNode);
  const isHot = ({ wallet }: Pick<WalletAccounts, 'wallet'>) => kinds.get(wallet) === 'hot';
  const isOther = (one: Pick<WalletAccounts, 'wallet'>) => !isHot(one);
  const [hot, others] = [named.filter(isHot), named.filter(isOther)];
  const answers = [...(await holdingsBy(allNodes(pool), hot)), ...(await holdingsBy(oneNode, others))];
  const newest = scans ? (await finalizedTip(pool)) + APART_SLOTS : null;
  const usable = newest === null ? answers : answers.filter(({ slot }) => slot <= newest);
  if (scans) await waitUntilScanned(deps, usable);
  const looks = [
    ...(await depositLooks(deps, usable.filter(isOther))),
    ...(await hotLooks({ ...deps, scannedTo }, usable.filter(isHot))),
  ];
  const compared = new Set(looks.map(({ wallet }) => wallet));
  const missing = (of: readonly WalletAccounts[], reason: string) =>
    of.filter(({ wallet }) => !compared.has(wallet)).map(({ wallet }) => ({ wallet, reason }));
  return {
    looks,
    unread: [
      ...unread,
      ...missing(others, 'no node returns its balances'),
      ...missing(hot, 'no quorum of nodes agrees on its balances and movements'),
    ],
  };
}

function allNodes(pool: NodePool): AskNodes {
  return async (ask) => answersIn(await pool.all(ask)).map(({ answer }) => answer);
}

/** Asks the node of this pass, and the next ones if it fails. A node that failed is asked last. */
function nodeInTurn(pool: NodePool, pass: bigint): AskNodes {
  const names = pool.nodes.map(({ name }) => name).toSorted();
  const first = Number(pass % BigInt(names.length));
  const order = [...names.slice(first), ...names.slice(0, first)];
  return async (ask) => {
    for (const name of order.slice()) {
      const [answered] = answersIn(await pool.all(ask, (node) => node.name === name));
      if (answered !== undefined) return [answered.answer];
      order.push(...order.splice(order.indexOf(name), 1));
    }
    return [];
  };
}

/** Token accounts to compare for each wallet: derived, recorded, and listed by one node. */
async function accountsOf({ ledger }: LookDeps, wallets: readonly string[], askNodes: AskNodes) {
  const assets = await ledger.assets.list();
  const recorded = await ledger.movements.accountsOf(wallets);
  const unread: UnreadWallet[] = [];
  const named = await pLimit(AT_ONCE).map([...wallets], async (wallet): Promise<WalletAccounts[]> => {
    const [listed] = await askNodes((node) => tokenAccountsAt(node, wallet));
    if (listed === undefined) {
      unread.push({ wallet, reason: 'no node lists its token accounts' });
      return [];
    }
    const derived = derivedAccountsOf(assets, wallet);
    const accounts = new Set([...derived, ...(recorded.get(wallet) ?? []), ...listed.accounts]);
    accounts.delete(wallet);
    const nested = nestedAccountsOf(assets, wallet);
    for (const account of nested.keys()) accounts.delete(account);
    return [{ wallet, tokenAccounts: [...accounts], nested }];
  });
  return { named: named.flat(), unread };
}

async function holdingsBy(
  askNodes: AskNodes,
  wallets: readonly WalletAccounts[],
): Promise<readonly WalletHoldings[]> {
  const holdings = await pLimit(AT_ONCE).map([...groupsOf(wallets)], (group) =>
    askNodes((node) => holdingsOf(node, group)),
  );
  return holdings.flat(2);
}

/** Waits until the cursor has passed the slot of every answer; before that the movements are incomplete. */
async function waitUntilScanned(
  { ledger, patienceMs = PATIENCE_MS }: LookDeps,
  usable: readonly WalletHoldings[],
): Promise<void> {
  const newest = highest([0n, ...usable.map(({ slot }) => slot)]);
  for (const until = performance.now() + patienceMs; ; ) {
    const cursor = await ledger.scan.cursor();
    if (cursor !== null && cursor.slot >= newest) return;
    if (performance.now() >= until) throw new ScanBehind(`the scan has not reached slot ${newest}`);
    await sleep(WAIT_MS, undefined, { signal: cancellationSignal() });
  }
}
