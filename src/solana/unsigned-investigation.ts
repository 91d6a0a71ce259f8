import pLimit from 'p-limit';
import type { NodeTestimony, Sighting } from '../domain/attempt.ts';
import { isDue } from '../domain/judge.ts';
import {
  judgeUnsigned,
  sightingOfMessage,
  type UnsignedFacts,
  type WalletEntry,
} from '../domain/unsigned.ts';
import { historyStarts } from './absence.ts';
import { type BlockCache, coverageOf, type LinkedBlock, type LinkedRange } from './blocks.ts';
import type { Chain } from './chain.ts';
import type { Finding } from './examination.ts';
import { askHeights } from './heights.ts';
import { readBlocksOf } from './investigation.ts';
import { NodeFault } from './rpc/errors.ts';
import { getBlockAccounts } from './rpc/methods.ts';
import type { SolanaNode } from './rpc/node.ts';
import type { NodePool } from './rpc/pool.ts';
import { NOT_SHOWN } from './spending.ts';
import { forgetfulNodes } from './statuses.ts';
import { listAbove, partiesOf, type Verify } from './wallet-history.ts';

/** An attempt that is prepared, and of which no signature is on record. */
export type UnsignedAttempt = UnsignedFacts & { readonly wallet: string };

type HashOf = (signature: string) => Promise<string | null>;

const AT_ONCE = 8;
/** More than a wallet is named in within the life of a blockhash, dust included. */
const READ_AT_MOST = 5_000;

/**
 * Everything that a proof of death without a signature needs, in its order: finalized heights; the linked blocks of the attempt's
 * life, with the accounts of their transactions; what each node's history of the wallet lists there. What the wallet signed is
 * read from bytes that prove it by `verify`. Null while no node is past the attempt's last height.
 */
export async function examineUnsigned(
  chain: Chain,
  attempt: UnsignedAttempt,
  cache: BlockCache,
  verify: Verify,
): Promise<Finding | null> {
  const askedAt = new Date();
  const { pool } = chain;
  const facts = { ...attempt, signature: attempt.messageHash };
  const finalizedHeights = await askHeights(pool, 'finalized');
  if (!isDue(facts, finalizedHeights)) return null;
  const sequence = pool.nodes.length + 1;
  const read = await readBlocksOf(chain, facts, finalizedHeights, cache);
  const { stillTaking, origin, gone, range, obstacle } = read;
  const hashOf = hashReader(pool, verify);
  const contains = range === null ? null : await holdsMessage(pool, range, attempt, hashOf);
  const coverage =
    range === null || contains === null
      ? null
      : { ...coverageOf(range, ''), containsSignature: contains, sequence };
  const displacement = gone === null ? null : { ...gone, sequence };
  const statuses = await askHistories(chain, attempt, range?.last.slot ?? null, hashOf, sequence + 1);
  const outcome = { quorum: pool.quorum, statuses, outcomeConfirmedBy: [] };
  const evidence = { ...outcome, finalizedHeights, stillTaking, origin, displacement, coverage };
  const times = { askedAt, judgedAt: new Date() };
  return { verdict: judgeUnsigned(attempt, evidence), evidence, times, spending: NOT_SHOWN, obstacle };
}

/** The hash of a finalized transaction's message, each read once; null where no node shows bytes that prove it. */
function hashReader(pool: NodePool, verify: Verify): HashOf {
  const read = new Map<string, Promise<string | null>>();
  return (signature) => {
    const known = read.get(signature);
    if (known !== undefined) return known;
    const fresh = partiesOf(pool, signature, verify).then((parties) => parties?.messageHash ?? null);
    read.set(signature, fresh);
    return fresh;
  };
}

/** Whether a transaction in these blocks that the wallet signed has the message; null where any of them cannot be read. */
async function holdsMessage(
  pool: NodePool,
  { blocks }: LinkedRange,
  { wallet, messageHash }: UnsignedAttempt,
  hashOf: HashOf,
): Promise<boolean | null> {
  const read = (block: LinkedBlock) => signedIn(pool, block, wallet);
  const signed = await pLimit(AT_ONCE).map(blocks, read);
  const hashes = await pLimit(AT_ONCE).map(
    signed.flatMap((signatures) => signatures ?? []),
    hashOf,
  );
  if (hashes.includes(messageHash)) return true;
  return signed.includes(null) || hashes.includes(null) ? null : false;
}

/**
 * The transactions of a linked block that the wallet signed, as a quorum shows them; null where too few agree. Only the very block with
 * the very transactions of the link counts.
 */
async function signedIn(
  pool: NodePool,
  block: LinkedBlock,
  wallet: string,
): Promise<readonly string[] | null> {
  const ask = async (node: SolanaNode): Promise<readonly string[]> => {
    const shown = await getBlockAccounts(node, block.slot);
    const transactions = shown?.transactions ?? [];
    const isSame =
      shown?.blockhash === block.blockhash &&
      transactions.length === block.signatures.size &&
      transactions.every(({ signature }) => block.signatures.has(signature));
    if (!isSame) throw new NodeFault(node.name, `getBlock: shows another block ${block.slot} with accounts`);
    return transactions.flatMap(({ signature, signers }) => (signers.includes(wallet) ? [signature] : []));
  };
  const shown = await pool.agreed(ask, (one, other) => one.join() === other.join());
  return shown?.answer ?? null;
}

/** What the history of the wallet says at each node; one that keeps none, or shows a part of it, says nothing. */
async function askHistories(
  { pool }: Chain,
  { wallet, blockhashSlot, messageHash }: UnsignedAttempt,
  lastSlot: bigint | null,
  hashOf: HashOf,
  from: number,
): Promise<readonly NodeTestimony<Sighting>[]> {
  const answers = await pool.all((node) => listAbove(node, wallet, blockhashSlot, () => false));
  const forgetful = forgetfulNodes(pool);
  const starts = await historyStarts(pool);
  return pLimit(1).map(answers, async ({ node, result }, index) => {
    const said = (answer: Sighting) => ({ node, sequence: from + index, answer });
    if (result.status === 'rejected') return said({ kind: 'unreadable', why: String(result.reason) });
    const { entries, finalized } = result.value;
    const inLife = entries.filter(({ slot }) => lastSlot === null || slot <= lastSlot);
    if (finalized === null || forgetful.has(node) || inLife.length > READ_AT_MOST)
      return said({ kind: 'unreadable', why: 'shows no whole history of the wallet' });
    const read = await pLimit(AT_ONCE).map(
      inLife,
      async (entry): Promise<WalletEntry> => ({ ...entry, messageHash: await hashOf(entry.signature) }),
    );
    const history = { entries: read, historyFrom: starts.get(node) ?? null, atSlot: finalized.slot };
    return said(sightingOfMessage(messageHash, history));
  });
}
