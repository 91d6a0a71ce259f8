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

const BLOCK_TRIES = 5;
const BLOCK_PAUSE_MS = 100;
const AGREED_WITHIN_MS = 2_000;

/**
 * A confirmed blockhash whose block a quorum returns with its slot and height: a later proof of death depends on
 * these values. Prefers the best node's newest blockhash if other nodes know it, else the newest that a quorum knows.
 * Throws NoHealthyNode if there is none.
 */
export async function latestBlockhash(pool: NodePool): Promise<LatestBlockhash> {
  const best = await pool.read(async (node) => {
    const latest = await readLatestBlockhash(node);
    const { shownBy, contradicted } = await askOthers(pool, node, latest);
    if (contradicted && shownBy < 2)
      throw new NodeFault(
        node.name,
        `returns blockhash ${latest.blockhash}, which no other node returns there`,
      );
    return { latest, agreed: shownBy >= pool.quorum };
  });
  return best.agreed ? best.latest : newestAgreed(pool);
}

/** For nodes that lag behind each other: the newest blockhash that any node returns and a quorum knows. */
async function newestAgreed(pool: NodePool): Promise<LatestBlockhash> {
  const given: { readonly node: SolanaNode; readonly latest: LatestBlockhash }[] = [];
  const asked = pool.all(async (node) => given.push({ node, latest: await readLatestBlockhash(node) }));
  await Promise.race([asked, agreementTimeout()]);
  for (const { node, latest } of given.toSorted((a, b) => (a.latest.slot < b.latest.slot ? 1 : -1)))
    if ((await askOthers(pool, node, latest)).shownBy >= pool.quorum) return latest;
  throw new DomainError(
    'NoHealthyNode',
    `no blockhash is known to ${pool.quorum} of ${pool.nodes.length} nodes`,
  );
}

/** Nodes, `from` included, that return this block for its slot, and whether any returns another. Ends on a quorum. */
async function askOthers(
  pool: NodePool,
  from: SolanaNode,
  { slot, blockhash, height }: LatestBlockhash,
): Promise<{ readonly shownBy: number; readonly contradicted: boolean }> {
  let shownBy = 1;
  let contradicted = false;
  if (shownBy >= pool.quorum) return { shownBy, contradicted };
  await new Promise<void>((resolve, reject) => {
    const asked = pool.all(async (node) => {
      const block = node.name === from.name ? null : await findBlock(node, slot);
      if (block === null) return;
      if (block.blockhash === blockhash && block.height === height) shownBy += 1;
      else contradicted = true;
      if (shownBy >= pool.quorum) resolve();
    });
    Promise.race([asked, agreementTimeout()]).then(() => resolve(), reject);
  });
  return { shownBy, contradicted };
}

function agreementTimeout(): Promise<void> {
  return sleep(AGREED_WITHIN_MS, undefined, { ref: false });
}

/**
 * A confirmed blockhash from one node, by getFees if the node lacks getLatestBlockhash. The height comes from the
 * block itself, on the same node: lastValidBlockHeight minus a constant would be a guess. Throws NodeFault if the
 * node does not return the block after a few tries, or if the two answers do not match.
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
    throw new NodeFault(node.name, `getBlock: returns a blockhash of slot ${slot}, but not its block`);
  if (block.blockhash !== blockhash)
    throw new NodeFault(node.name, `getBlock: block ${slot} does not have blockhash ${blockhash}`);
  const life = lastValidBlockHeight - block.height;
  if (life < BLOCKHASH_LIFE || life > BLOCKHASH_LIFE + 1n)
    throw new NodeFault(node.name, `lastValidBlockHeight: is ${life} above the height of block ${slot}`);
  return { blockhash, slot, height: block.height, lastValidBlockHeight };
}

/**
 * Whether a node's finalized bank accepts a blockhash, by getFeeCalculatorForBlockhash if the node lacks
 * isBlockhashValid. True contradicts a finalized height above the last valid one. False proves nothing: a bank that
 * lags does not know the blockhash yet.
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
 * Lamports for the one signature of a message (base64) with a known priority fee, by getFees if the node lacks
 * getFeeForMessage. Throws NodeFault if the node does not know its blockhash.
 */
export async function readBaseFee(node: SolanaNode, message: string, priority: bigint): Promise<bigint> {
  return withLegacy(
    node,
    'getFeeForMessage',
    async () => {
      const { value } = await rpc.getFeeForMessage(node, message);
      if (value === null)
        throw new NodeFault(node.name, 'getFeeForMessage: value is null for a new blockhash');
      return value - priority;
    },
    async () => (await rpc.getFees(node)).value.feeCalculator.lamportsPerSignature,
  );
}

/** Uses the current method, or the legacy one if this node lacks it. */
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

type CarryingBlock = Pick<LatestBlockhash, 'blockhash' | 'height'>;

/** The confirmed block of a slot; null if the node does not return it after a few tries. */
async function findBlock(node: SolanaNode, slot: Slot): Promise<CarryingBlock | null> {
  const asked = { commitment: 'confirmed', transactionDetails: 'none' } as const;
  for (let tries = 1; ; tries += 1) {
    const block = await rpc.getBlock(node, slot, asked).catch(notYet);
    if (block !== null && block.blockHeight !== null)
      return { blockhash: block.blockhash, height: block.blockHeight };
    if (tries === BLOCK_TRIES) return null;
    await sleep(BLOCK_PAUSE_MS);
  }
}

function notYet(error: unknown): null {
  if (error instanceof RpcError && error.reaction === 'later') return null;
  throw error;
}
