import { base58 } from '@scure/base';
import { SOL } from '../domain/deposit-asset.ts';
import { DomainError, isDomainError } from '../domain/errors.ts';
import { deriveAta } from './ata.ts';
import { endless, HISTORY_BOUNDS, historyPage, type WalletSignature } from './history-pages.ts';
import { messageHashOf } from './message.ts';
import { isTokenProgram, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs.ts';
import { getEpochInfo, getSignedTransaction } from './rpc/methods.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';
import { readSigned } from './signed-transaction.ts';

/** How far a chain is known. */
export interface Progress {
  readonly slot: bigint;
  readonly height: bigint;
}

/** What one node lists of a wallet. */
export interface WalletListing {
  readonly entries: readonly WalletSignature[];
  /** Finalized before the list was read; null where the list is so long that its newest entries are left out. */
  readonly finalized: Progress | null;
  /** The slot up to which nothing is left out. */
  readonly coveredTo: bigint;
}

/** Who signed a transaction, and who had a part in it: every account of it and the owners of its token accounts. */
export interface Parties {
  readonly signers: readonly string[];
  readonly all: readonly string[];
  /** Whether it moved tokens between accounts whose owners the node tells; `hidden` where it tells not all that there must be. */
  readonly tokens: 'none' | 'told' | 'hidden';
  /** Hex sha256 of what they signed. */
  readonly messageHash: string;
}

/** Everybody who may have got something by a transaction. */
export interface Payees {
  readonly all: readonly string[];
  /** True where an owner of tokens may be missing: then it may have been anybody. */
  readonly hidesOwners: boolean;
}

/** True where `signature` is one of the wallet `address` over `message`. */
export type Verify = (address: string, message: Uint8Array, signature: Uint8Array) => boolean;

/** So many of a list are kept, the oldest; the others come when those are judged. */
const KEPT = 50_000;
/** More than an honest node lists between two looks, however much dust a wallet is sent. */
const PAGES_AT_MOST = 1_000;

/**
 * What each node that answers when a quorum does lists as finalized above `slot`, without the signatures that are `known` already. Two calls to each
 * node where nothing is new. Throws NoHealthyNode where no node answers.
 */
export async function listingsAbove(
  pool: NodePool,
  wallet: string,
  slot: bigint,
  known: (signature: string) => boolean,
): Promise<readonly WalletListing[]> {
  const answers = (await pool.most((node) => listAbove(node, wallet, slot, known))).map(
    ({ result }) => result,
  );
  const heard = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  if (heard.length > 0) return heard;
  const silent = answers.find((answer) => answer.status === 'rejected');
  throw new DomainError('NoHealthyNode', 'no node shows the history of the wallet', {}, silent?.reason);
}

/** Everything listed, the oldest first: one that lags or has lost some of it hides nothing that another one knows. */
export function unionOf(listings: readonly Pick<WalletListing, 'entries'>[]): readonly WalletSignature[] {
  const bySignature = new Map(
    listings.flatMap(({ entries }) => entries).map((entry) => [entry.signature, entry]),
  );
  return [...bySignature.values()].toSorted((a, b) => (a.slot < b.slot ? -1 : a.slot > b.slot ? 1 : 0));
}

/** The finalized slot and height of every node that tells. */
export async function progressOf(pool: NodePool): Promise<readonly Progress[]> {
  const answers = await pool.most(finalizedProgress);
  return answers.flatMap(({ result }) => (result.status === 'fulfilled' ? [result.value] : []));
}

/**
 * The greatest value that `quorum` of those who tell have reached; null where fewer tell. As at most a minority of nodes lies, one
 * that is honest has reached it.
 */
export function reachedBy(quorum: number, values: readonly bigint[]): bigint | null {
  return values.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))[quorum - 1] ?? null;
}

/**
 * The parties of a finalized transaction, from any node whose bytes prove who signed: no node can make that up, nor hide it behind
 * another transaction. Null where none shows such bytes now.
 */
export async function partiesOf(pool: NodePool, signature: string, verify: Verify): Promise<Parties | null> {
  const shown = await pool.second(
    '',
    (node) => readParties(node, signature, verify),
    (parties) => parties !== null,
  );
  return shown?.answer ?? null;
}

/**
 * What all nodes together tell of a transaction whose signed bytes are proven. Who owns a token account that is not an associated one
 * stands in its outcome alone, so that a quorum must tell it.
 */
export async function payeesOf(pool: NodePool, signature: string, verify: Verify): Promise<Payees> {
  const answers = await pool.most((node) => readParties(node, signature, verify));
  const shown = answers.flatMap(({ result }) =>
    result.status === 'fulfilled' && result.value !== null ? [result.value] : [],
  );
  const told = shown.filter(({ tokens }) => tokens === 'told').length;
  const hidesOwners =
    shown.length === 0 || (shown.some(({ tokens }) => tokens !== 'none') && told < pool.quorum);
  return { all: [...new Set(shown.flatMap(({ all }) => all))], hidesOwners };
}

/**
 * True where this may be a payment of `asset` to `destination`: it names the wallet, or its associated token account, which is all
 * that the signed bytes name where it was there before; or nobody knows who got its tokens.
 */
export function mayHavePaid(
  { all, hidesOwners }: Payees,
  { destination, asset }: { readonly destination: string; readonly asset: string },
): boolean {
  if (all.includes(destination)) return true;
  if (hidesOwners && asset !== SOL) return true;
  if (!all.includes(asset)) return false;
  try {
    return [TOKEN_PROGRAM, TOKEN_2022_PROGRAM].some((one) =>
      all.includes(deriveAta(destination, asset, one)),
    );
  } catch (error) {
    // An owner off the curve was never paid by us.
    if (isDomainError(error, 'DestinationRejected')) return false;
    throw error;
  }
}

async function readParties(node: SolanaNode, signature: string, verify: Verify): Promise<Parties | null> {
  const shown = await getSignedTransaction(node, signature);
  const signed = shown === null ? null : readSigned(shown.transaction);
  const [first] = signed?.signatures ?? [];
  if (shown === null || signed === null || first === undefined || base58.encode(first) !== signature)
    return null;
  const { signers, signatures, message, accounts } = signed;
  const proven = signatures.every((one, index) => verify(signers[index] ?? '', message, one));
  if (!proven) return null;
  const { writable = [], readonly = [] } = shown.meta?.loadedAddresses ?? {};
  const { preTokenBalances, postTokenBalances } = shown.meta ?? {};
  const holders = [...(preTokenBalances ?? []), ...(postTokenBalances ?? [])];
  const owners = holders.flatMap(({ owner }) => owner ?? []);
  const named = [...accounts, ...writable, ...readonly];
  // Each program that moves tokens, called by whichever, is among the accounts; those of lookup tables the meta alone tells.
  const movesTokens = shown.meta === null || named.some(isTokenProgram);
  const isTold =
    preTokenBalances && postTokenBalances && holders.length > 0 && owners.length === holders.length;
  const tokens = movesTokens ? (isTold ? 'told' : 'hidden') : 'none';
  return { signers, all: [...new Set([...named, ...owners])], tokens, messageHash: messageHashOf(message) };
}

/** How far one node has finalized. */
export async function finalizedProgress(node: SolanaNode): Promise<Progress> {
  const { absoluteSlot, blockHeight } = await getEpochInfo(node, 'finalized');
  return { slot: absoluteSlot, height: blockHeight };
}

/** What one node lists; see {@link listingsAbove}. */
export async function listAbove(
  node: SolanaNode,
  wallet: string,
  slot: bigint,
  known: (signature: string) => boolean,
): Promise<WalletListing> {
  const { pageSize } = HISTORY_BOUNDS;
  // Asked first: what is final by then must be in the list.
  const finalized = await finalizedProgress(node);
  const found: WalletSignature[] = [];
  let leftOut = false;
  let last: WalletSignature | null = null;
  for (let pages = 1; ; pages += 1) {
    const entries = await historyPage(node, wallet, last, pageSize);
    if (entries === null || pages > PAGES_AT_MOST) throw endless(node, wallet);
    found.push(...entries.filter((entry) => entry.slot > slot && !known(entry.signature)));
    leftOut ||= found.length > KEPT;
    found.splice(0, found.length - KEPT);
    last = entries.at(-1) ?? last;
    if (last === null || entries.length < pageSize || last.slot <= slot) break;
  }
  const [newest] = found;
  if (leftOut && newest !== undefined)
    return { entries: found, finalized: null, coveredTo: newest.slot - 1n };
  return { entries: found, finalized, coveredTo: finalized.slot };
}
