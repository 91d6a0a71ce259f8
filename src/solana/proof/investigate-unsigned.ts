import { base64 } from '@scure/base';
import pLimit, { type LimitFunction } from 'p-limit';
import type { NodeAnswer, StatusObservation } from '../../domain/attempt.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { HISTORY_BOUNDS, type HistoryBounds, listWithin, type WalletSignature } from '../history/pages.ts';
import { finalizedProgress, partiesOf, type VerifySignature } from '../history/wallet-history.ts';
import { NodeFault, nullIfNodesFail } from '../rpc/errors.ts';
import { getBlockAccounts } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { TtlCache } from '../rpc/ttl-cache.ts';
import { messageHashOf } from '../tx/message.ts';
import { BlockSignatures } from './block-signatures.ts';
import { distrustRefuted, trustedStatuses } from './confirm-outcome.ts';
import { attemptOfRow, type Finding, type RecordedLifetime } from './examine.ts';
import { askHeights } from './heights.ts';
import { readBlocksOf, type SignedAttempt } from './investigate.ts';
import { examineUnsignedNonce } from './investigate-nonce.ts';
import { firstSlotAboveLastHeight, isDue, judgeUnsigned } from './judge.ts';
import {
  type BlockCache,
  blockCache,
  coverageOf,
  type LinkedBlock,
  type LinkedRange,
} from './linked-blocks.ts';
import { UNKNOWN_SPENDING } from './spending.ts';
import { emptyOutcomeEvidence } from './status-observations.ts';
import { historyStarts, nodesWithoutHistory } from './statuses.ts';

/** An attempt row whose signature is not known: the nodes are searched for its message under any signature. */
export type UnsignedRow = RecordedLifetime & {
  readonly signers: readonly string[];
  /** base64. */
  readonly message: string;
  readonly messageHash: string;
};

type UnsignedAttempt = SignedAttempt & { readonly messageHash: string; readonly wallet: string };

/** Cache of what one process has read for attempts without a signature, shared by all investigations. */
export interface UnsignedCache {
  readonly blocks: BlockCache;
  /** By blockhash, all signers of the block's transactions. */
  readonly signers: TtlCache<BlockSignatures>;
  /** By blockhash and wallet, the signatures of the block's transactions that the wallet signed. */
  readonly signed: TtlCache<readonly string[]>;
  /** By signature, the message hash of its transaction. */
  readonly hashes: TtlCache<string>;
  /** By node and wallet, the entries from which reading the wallet's history continues. */
  readonly places: TtlCache<WalletSignature[]>;
  /** Limits concurrent reads of blocks with accounts, which are large. */
  readonly reads: LimitFunction;
}

const MAX_CONCURRENT_READS = 8;
/** Exceeds the number of transactions that a wallet signs while a blockhash is valid. */
const MAX_ENTRIES = 5_000;
const MAX_CACHED_HASHES = 4 * MAX_ENTRIES;
const MAX_CACHED_BLOCKS = 1_000;
const MAX_CACHED_PLACES = 256;

export function unsignedCache(history: HistoryBounds = HISTORY_BOUNDS): UnsignedCache {
  return {
    blocks: blockCache(history),
    signers: new TtlCache(Number.POSITIVE_INFINITY, MAX_CACHED_BLOCKS),
    signed: new TtlCache(Number.POSITIVE_INFINITY, MAX_CACHED_BLOCKS),
    hashes: new TtlCache(Number.POSITIVE_INFINITY, MAX_CACHED_HASHES),
    places: new TtlCache(Number.POSITIVE_INFINITY, MAX_CACHED_PLACES),
    reads: pLimit(MAX_CONCURRENT_READS),
  };
}

interface BlockSearchResult {
  /** The signature under which the linked blocks contain the message; null if they do not contain it. */
  readonly landedAs: string | null;
  /** True for a transaction in the linked blocks that names the wallet but is not signed by it: anyone can send one. */
  readonly isOther: (entry: WalletSignature) => boolean;
}

const NOT_SEARCHED: BlockSearchResult = { landedAs: null, isOther: () => false };

/**
 * Examines an attempt without a known signature. A message that a node returns counts only if `verify` accepts its
 * signatures. Null if the attempt is not due, or if the row's message does not match its hash and proves nothing.
 */
export async function examineUnsigned(
  chain: Chain,
  { signers, message, messageHash, ...life }: UnsignedRow,
  cache: UnsignedCache,
  verify: VerifySignature,
): Promise<Finding | null> {
  const [wallet] = signers;
  if (wallet === undefined || messageHashOf(base64.decode(message)) !== messageHash) return null;
  const facts = { ...attemptOfRow(life, messageHash), messageHash };
  return 'nonce' in facts
    ? examineUnsignedNonce(chain, facts, cache.blocks, verify)
    : examineExpiring(chain, { ...facts, wallet }, cache, verify);
}

/**
 * Gathers the evidence that an attempt without a known signature can no longer land, in this order: the finalized
 * heights; the linked blocks of its validity window, with their accounts; each node's history of the wallet. Null while
 * the attempt is not due.
 */
async function examineExpiring(
  chain: Chain,
  attempt: UnsignedAttempt,
  cache: UnsignedCache,
  verify: VerifySignature,
): Promise<Finding | null> {
  const askedAt = new Date();
  const { pool } = chain;
  const finalizedHeights = await askHeights(pool, 'finalized');
  if (!isDue(attempt, finalizedHeights)) return null;
  const sequence = pool.nodes.length + 1;
  const reading = await readBlocksOf(chain, attempt, finalizedHeights, cache.blocks);
  const { stillTaking, origin, range, obstacle } = reading;
  const context = { pool, attempt, cache, hashOf: hashReader(pool, cache, verify) };
  const search = range === null ? NOT_SEARCHED : await searchBlocks(context, range);
  const coverage =
    range === null || search === NOT_SEARCHED
      ? null
      : { ...coverageOf(range, ''), containsSignature: search.landedAs !== null, sequence };
  const displacement = reading.displacement === null ? null : { ...reading.displacement, sequence };
  const upTo =
    range?.last.slot ?? (displacement === null ? null : firstSlotAboveLastHeight(attempt, displacement));
  const histories = upTo === null ? [] : await askHistories(context, upTo, search.isOther, sequence + 1);
  if (displacement !== null || coverage?.containsSignature === false)
    distrustRefuted(pool, histories, `the message ${attempt.messageHash}`);
  const statuses = trustedStatuses(pool, histories);
  const outcome = { ...emptyOutcomeEvidence(pool.quorum), statuses };
  const evidence = { ...outcome, finalizedHeights, stillTaking, origin, displacement, coverage };
  const times = { askedAt, judgedAt: new Date() };
  const verdict = judgeUnsigned(attempt, evidence);
  return { verdict, evidence, times, spending: UNKNOWN_SPENDING, obstacle, landedAs: search.landedAs };
}

/** The message hash of a finalized transaction; null if no node returns bytes that prove it. */
type HashOf = (signature: string) => Promise<string | null>;

interface SearchContext {
  readonly pool: NodePool;
  readonly attempt: UnsignedAttempt;
  readonly cache: UnsignedCache;
  readonly hashOf: HashOf;
}

function hashReader(pool: NodePool, { hashes }: UnsignedCache, verify: VerifySignature): HashOf {
  const read = async (signature: string): Promise<string> => {
    const parties = await partiesOf(pool, signature, verify);
    if (parties === null) throw new DomainError('NoHealthyNode', `no node returns transaction ${signature}`);
    return parties.messageHash;
  };
  return (signature) => hashes.get(signature, () => read(signature)).catch(nullIfNodesFail);
}

/** Searches the transactions that the wallet signed for the message. `NOT_SEARCHED` if one of them is unreadable. */
async function searchBlocks(
  { pool, attempt, cache, hashOf }: SearchContext,
  { blocks }: LinkedRange,
): Promise<BlockSearchResult> {
  const { wallet, messageHash } = attempt;
  const signedIn = (block: LinkedBlock) => signaturesBy(wallet, pool, block, cache).catch(nullIfNodesFail);
  const signatureLists = await pLimit(MAX_CONCURRENT_READS).map(blocks, signedIn);
  const signedTransactions = new Set(signatureLists.flatMap((signatures) => signatures ?? []));
  const candidates = [...signedTransactions];
  const hashes = await pLimit(MAX_CONCURRENT_READS).map(candidates, hashOf);
  const landedAs = candidates[hashes.indexOf(messageHash)] ?? null;
  const bySlot = new Map(blocks.map(({ slot, signatures }) => [slot, signatures]));
  const isOther = ({ slot, signature }: WalletSignature) =>
    !signedTransactions.has(signature) && bySlot.get(slot)?.has(signature) === true;
  const isUnread = signatureLists.includes(null) || hashes.includes(null);
  return landedAs === null && isUnread ? NOT_SEARCHED : { landedAs, isOther };
}

async function signaturesBy(
  wallet: string,
  pool: NodePool,
  block: LinkedBlock,
  { signers, signed, reads }: UnsignedCache,
): Promise<readonly string[]> {
  const { blockhash } = block;
  const allSigners = await signers.get(blockhash, () => reads(() => readSigners(pool, block)));
  if (!allSigners.has(wallet)) return [];
  return signed.get(`${blockhash}/${wallet}`, () => reads(() => readSignedIn(pool, block, wallet)));
}

function readSigners(pool: NodePool, block: LinkedBlock): Promise<BlockSignatures> {
  const read = (transactions: readonly TransactionSigners[]) =>
    new BlockSignatures(new Set(transactions.flatMap(({ signers }) => signers)));
  return agreedReading(pool, block, read, (one, other) => one.isSame(other));
}

function readSignedIn(pool: NodePool, block: LinkedBlock, wallet: string): Promise<readonly string[]> {
  const read = (transactions: readonly TransactionSigners[]) =>
    transactions.flatMap(({ signature, signers }) => (signers.includes(wallet) ? [signature] : []));
  return agreedReading(pool, block, read, (one, other) => one.join() === other.join());
}

interface TransactionSigners {
  readonly signature: string;
  readonly signers: readonly string[];
}

/** Result of `read` on a linked block's transactions, if a quorum agrees on it. Throws NoHealthyNode otherwise. */
async function agreedReading<T>(
  pool: NodePool,
  block: LinkedBlock,
  read: (transactions: readonly TransactionSigners[]) => T,
  isSame: (one: T, other: T) => boolean,
): Promise<T> {
  const agreed = await pool.agreed(
    async (node, signal) => read(await readAccounts(node, block, signal)),
    isSame,
  );
  if (agreed !== null) return agreed.answer;
  throw new DomainError('NoHealthyNode', `no quorum agrees on the accounts in block ${block.slot}`);
}

/** Throws NodeFault unless the node returns exactly the linked block with exactly its transactions. */
async function readAccounts(node: SolanaNode, block: LinkedBlock, signal: AbortSignal) {
  const returned = await getBlockAccounts(node, block.slot, signal);
  const transactions = returned?.transactions ?? [];
  const isSame =
    returned?.blockhash === block.blockhash &&
    transactions.length === block.signatures.size &&
    transactions.every(({ signature }) => block.signatures.has(signature));
  if (isSame) return transactions;
  throw new NodeFault(
    node.name,
    `getBlock: block ${block.slot} with accounts is not the block with signatures that a quorum returned`,
  );
}

/**
 * Each node's history of the wallet up to a slot, as a status of the message. The status is `unreadable` if the node
 * stores no history or returns only a part of it, or if its history is not read down to the required slot yet.
 */
async function askHistories(
  { pool, attempt, cache, hashOf }: SearchContext,
  upTo: bigint,
  isOther: BlockSearchResult['isOther'],
  firstSequence: number,
): Promise<readonly NodeAnswer<StatusObservation>[]> {
  const { wallet, blockhashSlot: above, messageHash } = attempt;
  const answers = await pool.all(async (node) => {
    // The finalized slot is read before the list, so that the list contains everything finalized up to that slot.
    const { slot } = await finalizedProgress(node);
    const places = await cache.places.get(`${node.name}/${wallet}`, async () => []);
    const listing = await listWithin(node, wallet, { above, upTo }, isOther, places, cache.blocks.history);
    return { ...listing, atSlot: slot };
  });
  const withoutHistory = nodesWithoutHistory(pool);
  const starts = await historyStarts(pool);
  return pLimit(1).map(answers, async ({ node, result }, index) => {
    const statusOf = (answer: StatusObservation) => ({ node, sequence: firstSequence + index, answer });
    const unreadable = (reason: string) => statusOf({ kind: 'unreadable', reason });
    if (result.status === 'rejected') return unreadable(String(result.reason));
    if ('readTo' in result.value)
      return unreadable(
        `the history of wallet ${wallet} is read down to slot ${result.value.readTo}; its entries up to slot ${upTo} are not read yet`,
      );
    const { entries, atSlot } = result.value;
    if (withoutHistory.has(node) || entries.length > MAX_ENTRIES)
      return unreadable(`the node returns no complete history of wallet ${wallet}`);
    const walletEntries = await pLimit(MAX_CONCURRENT_READS).map(
      entries,
      async (entry): Promise<WalletEntry> => ({ ...entry, messageHash: await hashOf(entry.signature) }),
    );
    const history = { entries: walletEntries, historyFrom: starts.get(node) ?? null, atSlot };
    return statusOf(observationOfMessage(messageHash, history));
  });
}

/** A finalized transaction that names the wallet. `messageHash` is null if no node returns its bytes. */
export type WalletEntry = WalletSignature & { readonly messageHash: string | null };

/** One node's history of the wallet, from block `historyFrom` up to the finalized slot `atSlot`. */
interface NodeWalletHistory extends Omit<Extract<StatusObservation, { kind: 'absent' }>, 'kind'> {
  readonly entries: readonly WalletEntry[];
}

/** One node's history of the wallet as a status of the message. `unreadable` if an entry has no message hash. */
export function observationOfMessage(
  messageHash: string,
  { entries, historyFrom, atSlot }: NodeWalletHistory,
): StatusObservation {
  const found = entries.find((entry) => entry.messageHash === messageHash);
  if (found !== undefined)
    return { kind: 'seen', commitment: 'finalized', slot: found.slot, error: null, atSlot };
  const unreadEntry = entries.find((entry) => entry.messageHash === null);
  return unreadEntry === undefined
    ? { kind: 'absent', atSlot, historyFrom }
    : {
        kind: 'unreadable',
        reason: `no node returns transaction ${unreadEntry.signature}, which names the wallet`,
      };
}
