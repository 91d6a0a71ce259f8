import { setTimeout as sleep } from 'node:timers/promises';
import { isMethodMissing, NodeFault, RpcError } from './rpc/errors.ts';
import * as rpc from './rpc/methods.ts';
import type { SolanaNode } from './rpc/node.ts';

/** A blockhash to sign with. `height` and `slot` are those of the block that carries it. */
export interface LatestBlockhash {
  readonly blockhash: string;
  readonly slot: bigint;
  readonly height: bigint;
  readonly lastValidBlockHeight: bigint;
}

const BLOCK_TRIES = 5;
const BLOCK_PAUSE_MS = 100;

/**
 * A confirmed blockhash from one node, by getFees where it does not have getLatestBlockhash.
 * The block itself tells the height, asked from the same node: lastValidBlockHeight minus a constant would be a guess about it.
 * Throws NodeFault where the node does not show the block after a few tries.
 */
export async function readLatestBlockhash(node: SolanaNode): Promise<LatestBlockhash> {
  const { context, value } = await withLegacy(
    node,
    'getLatestBlockhash',
    rpc.getLatestBlockhash,
    rpc.getFees,
  );
  const { blockhash, lastValidBlockHeight } = value;
  const height = await heightOf(node, context.slot, blockhash);
  return { blockhash, slot: context.slot, height, lastValidBlockHeight };
}

/**
 * Whether a node's finalized bank, being at or past the block that carries the blockhash, does not take it any more; by
 * getFeeCalculatorForBlockhash where it does not have isBlockhashValid. False where the bank has not come so far: it cannot know
 * the blockhash yet. Stands for a finalized height above the last valid one, and for nothing else (DESIGN: death, 3a).
 */
export async function readExpiry(
  node: SolanaNode,
  carried: { readonly blockhash: string; readonly slot: bigint },
): Promise<boolean> {
  const { slot, taken } = await withLegacy(
    node,
    'isBlockhashValid',
    async () => {
      const { context, value } = await rpc.isBlockhashValid(node, carried.blockhash);
      return { slot: context.slot, taken: value };
    },
    async () => {
      const { context, value } = await rpc.getFeeCalculatorForBlockhash(node, carried.blockhash);
      return { slot: context.slot, taken: value !== null };
    },
  );
  return slot >= carried.slot && !taken;
}

/**
 * Lamports for the one signature of a message (base64) whose priority fee is known, by getFees where the node does not have
 * getFeeForMessage. Throws NodeFault where the node does not know its blockhash.
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

/** Asks by the method of present nodes, and the older way where this node does not have it. */
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

async function heightOf(node: SolanaNode, slot: bigint, blockhash: string): Promise<bigint> {
  const asked = { commitment: 'confirmed', transactionDetails: 'none' } as const;
  for (let tries = 1; tries <= BLOCK_TRIES; tries += 1) {
    const block = await rpc.getBlock(node, slot, asked).catch(notYet);
    if (block?.blockhash === blockhash && block.blockHeight !== null) return block.blockHeight;
    if (block !== null)
      throw new NodeFault(node.name, `getBlock: block ${slot} does not carry blockhash ${blockhash}`);
    if (tries < BLOCK_TRIES) await sleep(BLOCK_PAUSE_MS);
  }
  throw new NodeFault(node.name, `getBlock: gives a blockhash of slot ${slot}, but not its block`);
}

function notYet(error: unknown): null {
  if (error instanceof RpcError && error.reaction === 'later') return null;
  throw error;
}
