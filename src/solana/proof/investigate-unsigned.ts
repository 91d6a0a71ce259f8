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
import { displacedUntil, isDue, judgeUnsigned } from './judge.ts';
import {
  type BlockCache,
  blockCache,
  coverageOf,
  type LinkedBlock,
  type LinkedRange,
} from './linked-blocks.ts';
import { NOT_SHOWN } from './spending.ts';
import { noOutcome } from './status-observations.ts';
import { historyStarts, nodesWithoutHistory } from './statuses.ts';

/** An attempt row, which is searched by its message under any signature. */
export type UnsignedRow = RecordedLifetime & {
  readonly signers: readonly string[];
  /** base64. */
  readonly message: string;
  readonly messageHash: string;
};

type UnsignedAttempt = SignedAttempt & { readonly messageHash: string; readonly wallet: string };

/** What one process has read for proofs without a signature, shared by all attempts and investigations. */
export interface UnsignedCache {
  readonly blocks: BlockCache;
  /** By block hash, all signers of its transactions, shared by the attempts of all wallets. */
  readonly signers: TtlCache<BlockSignatures>;
  /** By block hash and wallet, the signatures of transactions that the wallet signed there. */
  readonly signed: TtlCache<readonly string[]>;
  readonly hashes: TtlCache<string>;
  /** By node and wallet, where the reading of its history continues. */
  readonly places: TtlCache<WalletSignature[]>;
  /** Limits reads of blocks with accounts, which are large, over all attempts. */
  readonly reads: LimitFunction;
}

const AT_ONCE = 8;
/** More transactions than a wallet signs within the life of a blockhash. */
const MAX_ENTRIES = 5_000;
const HASHES_KEPT = 4 * MAX_ENTRIES;
const BLOCKS_KEPT = 1_000;
const PLACES_KEPT = 256;

export function unsignedCache(history: HistoryBounds = HISTORY_BOUNDS): UnsignedCache {
  return {
    blocks: blockCache(history),
    signers: new TtlCache(Number.POSITIVE_INFINITY, BLOCKS_KEPT),
    signed: new TtlCache(Number.POSITIVE_INFINITY, BLOCKS_KEPT),
    hashes: new TtlCache(Number.POSITIVE_INFINITY, HASHES_KEPT),
    places: new TtlCache(Number.POSITIVE_INFINITY, PLACES_KEPT),
    reads: pLimit(AT_ONCE),
  };
}

/** What the linked blocks of an attempt's life prove about its message and its wallet. */
interface BlockSearchResult {
  readonly contains: boolean | null;
  /** True for a transaction in these blocks that names the wallet without its signature: any sender can make one. */
  readonly isOther: (entry: WalletSignature) => boolean;
}

const NOT_SEARCHED: BlockSearchResult = { contains: null, isOther: () => false };

/**
 * Examines an attempt without a known signature. Messages of nodes count only if `verify` accepts their signatures.
 * Null while the attempt is not due. Null also if the row's message does not match its hash: such a row proves nothing
 * about the signed message, so an operator must check it.
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
 * Gathers the evidence for a death without a signature, in this order: finalized heights; linked blocks of the
 * attempt's life with their accounts; each node's history of the wallet. Null while no node is past the attempt's last
 * height.
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
  const read = await readBlocksOf(chain, attempt, finalizedHeights, cache.blocks);
  const { stillTaking, origin, gone, range } = read;
  const context = { pool, attempt, cache, hashOf: hashReader(pool, cache, verify) };
  const found = range === null ? NOT_SEARCHED : await searchBlocks(context, range);
  const coverage =
    range === null || found.contains === null
      ? null
      : { ...coverageOf(range, ''), containsSignature: found.contains, sequence };
  const displacement = gone === null ? null : { ...gone, sequence };
  const upTo = range?.last.slot ?? (gone === null ? null : displacedUntil(attempt, gone));
  const reported = upTo === null ? [] : await askHistories(context, upTo, found.isOther, sequence + 1);
  if (displacement !== null || coverage?.containsSignature === false)
    distrustRefuted(pool, reported, `the message ${attempt.messageHash}`);
  const statuses = trustedStatuses(pool, reported);
  const outcome = { ...noOutcome(pool.quorum), statuses };
  const evidence = { ...outcome, finalizedHeights, stillTaking, origin, displacement, coverage };
  const times = { askedAt, judgedAt: new Date() };
  const verdict = judgeUnsigned(attempt, evidence);
  return { verdict, evidence, times, spending: NOT_SHOWN, obstacle: read.obstacle };
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

/** Reads what the wallet signed in these blocks. Anything unreadable proves nothing, unless the message was found. */
async function searchBlocks(
  { pool, attempt, cache, hashOf }: SearchContext,
  { blocks }: LinkedRange,
): Promise<BlockSearchResult> {
  const { wallet, messageHash } = attempt;
  const signedIn = (block: LinkedBlock) => signedBy(wallet, pool, block, cache).catch(nullIfNodesFail);
  const signed = await pLimit(AT_ONCE).map(blocks, signedIn);
  const own = new Set(signed.flatMap((signatures) => signatures ?? []));
  const hashes = await pLimit(AT_ONCE).map([...own], hashOf);
  const bySlot = new Map(blocks.map(({ slot, signatures }) => [slot, signatures]));
  const isOther = ({ slot, signature }: WalletSignature) =>
    !own.has(signature) && bySlot.get(slot)?.has(signature) === true;
  if (hashes.includes(messageHash)) return { contains: true, isOther };
  return signed.includes(null) || hashes.includes(null) ? NOT_SEARCHED : { contains: false, isOther };
}

/** The transactions of a linked block that the wallet signed. A block without it as a signer is not read again. */
async function signedBy(
  wallet: string,
  pool: NodePool,
  block: LinkedBlock,
  { signers, signed, reads }: UnsignedCache,
): Promise<readonly string[]> {
  const { blockhash } = block;
  const all = await signers.get(blockhash, () => reads(() => readSigners(pool, block)));
  if (!all.has(wallet)) return [];
  return signed.get(`${blockhash}/${wallet}`, () => reads(() => readSignedIn(pool, block, wallet)));
}

/** All signers in a linked block, by a quorum. */
function readSigners(pool: NodePool, block: LinkedBlock): Promise<BlockSignatures> {
  const read = (transactions: readonly TransactionSigners[]) =>
    new BlockSignatures(new Set(transactions.flatMap(({ signers }) => signers)));
  return agreedIn(pool, block, read, (one, other) => one.isSame(other));
}

/** The transactions of a linked block that the wallet signed, by a quorum. */
function readSignedIn(pool: NodePool, block: LinkedBlock, wallet: string): Promise<readonly string[]> {
  const read = (transactions: readonly TransactionSigners[]) =>
    transactions.flatMap(({ signature, signers }) => (signers.includes(wallet) ? [signature] : []));
  return agreedIn(pool, block, read, (one, other) => one.join() === other.join());
}

interface TransactionSigners {
  readonly signature: string;
  readonly signers: readonly string[];
}

/** The reading of a linked block's transactions that a quorum returns alike. Throws NoHealthyNode if there is none. */
async function agreedIn<T>(
  pool: NodePool,
  block: LinkedBlock,
  read: (transactions: readonly TransactionSigners[]) => T,
  isSame: (one: T, other: T) => boolean,
): Promise<T> {
  const agreed = await pool.agreed(async (node, over) => read(await readAccounts(node, block, over)), isSame);
  if (agreed !== null) return agreed.answer;
  throw new DomainError('NoHealthyNode', `no quorum returns block ${block.slot} with the same accounts`);
}

/** Throws NodeFault unless the node returns exactly the linked block with exactly its transactions. */
async function readAccounts(node: SolanaNode, block: LinkedBlock, over: AbortSignal) {
  const shown = await getBlockAccounts(node, block.slot, over);
  const transactions = shown?.transactions ?? [];
  const isSame =
    shown?.blockhash === block.blockhash &&
    transactions.length === block.signatures.size &&
    transactions.every(({ signature }) => block.signatures.has(signature));
  if (isSame) return transactions;
  throw new NodeFault(node.name, `getBlock: returns another block ${block.slot} with accounts`);
}

/**
 * Whether each node's history of the wallet up to a slot has the message. A node is `unreadable` if it keeps no
 * history, returns only a part, or is not read down to the required slot yet.
 */
async function askHistories(
  { pool, attempt, cache, hashOf }: SearchContext,
  upTo: bigint,
  isOther: BlockSearchResult['isOther'],
  from: number,
): Promise<readonly NodeAnswer<StatusObservation>[]> {
  const { wallet, blockhashSlot: above, messageHash } = attempt;
  const answers = await pool.all(async (node) => {
    // The finalized slot comes first: everything final by then must be in the list.
    const { slot } = await finalizedProgress(node);
    const places = await cache.places.get(`${node.name}/${wallet}`, async () => []);
    const listed = await listWithin(node, wallet, { above, upTo }, isOther, places, cache.blocks.history);
    return { ...listed, atSlot: slot };
  });
  const withoutHistory = nodesWithoutHistory(pool);
  const starts = await historyStarts(pool);
  return pLimit(1).map(answers, async ({ node, result }, index) => {
    const statusOf = (answer: StatusObservation) => ({ node, sequence: from + index, answer });
    const unreadable = (reason: string) => statusOf({ kind: 'unreadable', reason });
    if (result.status === 'rejected') return unreadable(String(result.reason));
    if ('readTo' in result.value)
      return unreadable(`its history of the wallet is read down to slot ${result.value.readTo} of ${upTo}`);
    const { entries, atSlot } = result.value;
    if (withoutHistory.has(node) || entries.length > MAX_ENTRIES)
      return unreadable('returns no complete history of the wallet');
    const read = await pLimit(AT_ONCE).map(
      entries,
      async (entry): Promise<WalletEntry> => ({ ...entry, messageHash: await hashOf(entry.signature) }),
    );
    const history = { entries: read, historyFrom: starts.get(node) ?? null, atSlot };
    return statusOf(observationOfMessage(messageHash, history));
  });
}

/** A finalized transaction that names the wallet. `messageHash` is null if no node returns its bytes. */
export type WalletEntry = WalletSignature & { readonly messageHash: string | null };

/** One node's history of the wallet, from block `historyFrom` up to the finalized slot `atSlot`. */
interface NodeWalletHistory extends Omit<Extract<StatusObservation, { kind: 'absent' }>, 'kind'> {
  readonly entries: readonly WalletEntry[];
}

/** A node's history of the wallet as a status of the message. One entry without bytes makes it `unreadable`. */
export function observationOfMessage(
  messageHash: string,
  { entries, historyFrom, atSlot }: NodeWalletHistory,
): StatusObservation {
  const found = entries.find((entry) => entry.messageHash === messageHash);
  if (found !== undefined)
    return { kind: 'seen', commitment: 'finalized', slot: found.slot, error: null, atSlot };
  const hidden = entries.find((entry) => entry.messageHash === null);
  return hidden === undefined
    ? { kind: 'absent', atSlot, historyFrom }
    : { kind: 'unreadable', reason: `no node returns the transaction ${hidden.signature} of the wallet` };
}
