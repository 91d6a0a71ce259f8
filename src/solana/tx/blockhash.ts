import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../../domain/errors.ts';
import type { BlockHeight, Blockhash, Slot } from '../../domain/units.ts';
import { BLOCKHASH_LIFE } from '../proof/judge.ts';
import { isMethodMissing, NodeFault, RpcError } from '../rpc/errors.ts';
import * as rpc from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';

/** A blockhash to sign with. `height` and `slot` are those of its block. */
export interface LatestBlockhash {
  readonly blockhash: Blockhash;
  readonly slot: Slot;
  readonly height: BlockHeight;
  readonly lastValidBlockHeight: BlockHeight;
}

const MAX_BLOCK_TRIES = 5;
const BLOCK_RETRY_MS = 100;
const AGREEMENT_TIMEOUT_MS = 2_000;

/**
 * A confirmed blockhash. A quorum agrees on the slot and height of its block, because a later proof that the attempt is
 * dead depends on these values. Prefers the best node's newest blockhash, else the newest one on which a quorum agrees.
 * Throws NoHealthyNode if there is none.
 */
export async function latestBlockhash(pool: NodePool): Promise<LatestBlockhash> {
  const best = await pool.read(async (node) => {
    const latest = await readLatestBlockhash(node);
    const { agreeingNodeCount, isContradicted } = await askOthers(pool, node, latest);
    if (isContradicted && agreeingNodeCount < 2)
      throw new NodeFault(
        node.name,
        `returns blockhash ${latest.blockhash} for slot ${latest.slot}, but no other node does`,
      );
    return { latest, isAgreed: agreeingNodeCount >= pool.quorum };
  });
  return best.isAgreed ? best.latest : newestAgreed(pool);
}

/** The newest blockhash that any node returns and a quorum agrees on. Needed if nodes lag behind each other. */
async function newestAgreed(pool: NodePool): Promise<LatestBlockhash> {
  const found: { readonly node: SolanaNode; readonly latest: LatestBlockhash }[] = [];
  const answers = pool.all(async (node) => found.push({ node, latest: await readLatestBlockhash(node) }));
  await Promise.race([answers, agreementTimeout()]);
  for (const { node, latest } of found.toSorted((a, b) => (a.latest.slot < b.latest.slot ? 1 : -1)))
    if ((await askOthers(pool, node, latest)).agreeingNodeCount >= pool.quorum) return latest;
  throw new DomainError(
    'NoHealthyNode',
    `no blockhash is known to ${pool.quorum} of ${pool.nodes.length} nodes`,
  );
}

/**
 * Counts the nodes that return the blockhash's block for its slot, including `source`, until a quorum does.
 * `isContradicted`: a node returns a different block for this slot.
 */
async function askOthers(
  pool: NodePool,
  source: SolanaNode,
  { slot, blockhash, height }: LatestBlockhash,
): Promise<{ readonly agreeingNodeCount: number; readonly isContradicted: boolean }> {
  let agreeingNodeCount = 1;
  let isContradicted = false;
  if (agreeingNodeCount >= pool.quorum) return { agreeingNodeCount, isContradicted };
  await new Promise<void>((resolve, reject) => {
    const answers = pool.all(async (node) => {
      const block = node.name === source.name ? null : await findBlock(node, slot);
      if (block === null) return;
      if (block.blockhash === blockhash && block.height === height) agreeingNodeCount += 1;
      else isContradicted = true;
      if (agreeingNodeCount >= pool.quorum) resolve();
    });
    Promise.race([answers, agreementTimeout()]).then(() => resolve(), reject);
  });
  return { agreeingNodeCount, isContradicted };
}

function agreementTimeout(): Promise<void> {
  return sleep(AGREEMENT_TIMEOUT_MS, undefined, { ref: false });
}

/**
 * A confirmed blockhash from one node, which uses getFees if it lacks getLatestBlockhash. The height is read from the
 * block, because lastValidBlockHeight minus a constant would be a guess. Throws NodeFault if the node does not return
 * the block after a few tries, or if its answers contradict each other.
 */
async function readLatestBlockhash(node: SolanaNode): Promise<LatestBlockhash> {
  const { context, value } = await withLegacy(
    node,
    'getLatestBlockhash',
    rpc.getLatestBlockhash,
    rpc.getFees,
  );
  const { blockhash, lastValidBlockHeight } = value;
  const { slot } = context;
  const block = await findBlock(node, slot);
  if (block === null)
    throw new NodeFault(
      node.name,
      `getBlock: does not return the block of slot ${slot}, whose blockhash the node returned`,
    );
  if (block.blockhash !== blockhash)
    throw new NodeFault(
      node.name,
      `getBlock: returns block ${slot} with hash ${block.blockhash}, but the node returned blockhash ${blockhash} for it`,
    );
  const validBlocks = lastValidBlockHeight - block.height;
  if (validBlocks < BLOCKHASH_LIFE || validBlocks > BLOCKHASH_LIFE + 1n)
    throw new NodeFault(
      node.name,
      `lastValidBlockHeight: is ${validBlocks} blocks above the height of block ${slot}, not ${BLOCKHASH_LIFE}`,
    );
  return { blockhash, slot, height: block.height, lastValidBlockHeight };
}

/**
 * Whether a node's finalized bank accepts a blockhash. True contradicts a finalized height above the blockhash's last
 * valid height. False proves nothing: a bank that lags does not know the blockhash yet. Nodes that lack
 * isBlockhashValid are asked by getFeeCalculatorForBlockhash.
 * Source: docs/interface.md, Blockhash; docs/decisions/0012-quorum.md.
 */
export function acceptsBlockhash(node: SolanaNode, blockhash: string): Promise<boolean> {
  return withLegacy(
    node,
    'isBlockhashValid',
    async () => (await rpc.isBlockhashValid(node, blockhash)).value,
    async () => (await rpc.getFeeCalculatorForBlockhash(node, blockhash)).value !== null,
  );
}

/**
 * Base fee in lamports of a message (base64) with one signature, whose priority fee is `priorityFeeLamports`. Throws
 * NodeFault if the node does not know the message's blockhash.
 */
export async function readBaseFee(
  node: SolanaNode,
  message: string,
  priorityFeeLamports: bigint,
): Promise<bigint> {
  return withLegacy(
    node,
    'getFeeForMessage',
    async () => {
      const { value } = await rpc.getFeeForMessage(node, message);
      if (value === null)
        throw new NodeFault(node.name, 'getFeeForMessage: returns null for a message with a new blockhash');
      return value - priorityFeeLamports;
    },
    async () => (await rpc.getFees(node)).value.feeCalculator.lamportsPerSignature,
  );
}

async function withLegacy<T>(
  node: SolanaNode,
  method: string,
  ask: (node: SolanaNode) => Promise<T>,
  legacy: (node: SolanaNode) => Promise<T>,
): Promise<T> {
  if (node.missingMethods.includes(method)) return legacy(node);
  try {
    return await ask(node);
  } catch (error) {
    if (!isMethodMissing(error)) throw error;
    return legacy(node);
  }
}

type BlockPosition = Pick<LatestBlockhash, 'blockhash' | 'height'>;

/** The confirmed block of a slot; null if the node does not return it after a few tries. */
async function findBlock(node: SolanaNode, slot: Slot): Promise<BlockPosition | null> {
  const options = { commitment: 'confirmed', transactionDetails: 'none' } as const;
  for (let tries = 1; ; tries += 1) {
    const block = await rpc.getBlock(node, slot, options).catch(nullIfNotYet);
    if (block !== null && block.blockHeight !== null)
      return { blockhash: block.blockhash, height: block.blockHeight };
    if (tries === MAX_BLOCK_TRIES) return null;
    await sleep(BLOCK_RETRY_MS);
  }
}

function nullIfNotYet(error: unknown): null {
  if (error instanceof RpcError && error.reaction === 'later') return null;
  throw error;
}
