import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import { isMethodMissing, RpcError } from './rpc/errors.ts';
import type { SolanaNode } from './rpc/node.ts';
import * as shape from './rpc/schemas.ts';

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
  const params = [{ commitment: 'confirmed' }];
  const { context, value } = await modern(
    node,
    'getLatestBlockhash',
    (method) => node.call(method, params, shape.blockhashAnswer),
    () => node.call('getFees', params, shape.feesAnswer),
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
  const params = [carried.blockhash, { commitment: 'finalized' }];
  const { slot, taken } = await modern(
    node,
    'isBlockhashValid',
    async (method) => {
      const { context, value } = await node.call(method, params, shape.blockhashValidAnswer);
      return { slot: context.slot, taken: value };
    },
    async () => {
      const answer = await node.call('getFeeCalculatorForBlockhash', params, shape.feeCalculatorAnswer);
      return { slot: answer.context.slot, taken: answer.value !== null };
    },
  );
  return slot >= carried.slot && !taken;
}

/**
 * Lamports for the one signature of a message (base64) whose priority fee is known, by getFees where the node does not have
 * getFeeForMessage. Throws NodeFault where the node does not know its blockhash.
 */
export async function readBaseFee(node: SolanaNode, message: string, priority: bigint): Promise<bigint> {
  const config = { commitment: 'confirmed' };
  return modern(
    node,
    'getFeeForMessage',
    async (method) => {
      const { value } = await node.call(method, [message, config], shape.feeForMessageAnswer);
      if (value === null) throw fault(node, `${method}: value is null for a new blockhash`);
      return value - priority;
    },
    async () => {
      const { value } = await node.call('getFees', [config], shape.feesAnswer);
      return value.feeCalculator.lamportsPerSignature;
    },
  );
}

/** Asks by the method of present nodes, and the older way where this node does not have it. */
async function modern<T>(
  node: SolanaNode,
  method: string,
  ask: (method: string) => Promise<T>,
  older: () => Promise<T>,
): Promise<T> {
  if (node.missingMethods.includes(method)) return older();
  try {
    return await ask(method);
  } catch (error) {
    if (!isMethodMissing(error)) throw error;
    return older();
  }
}

async function heightOf(node: SolanaNode, slot: bigint, blockhash: string): Promise<bigint> {
  const options = {
    commitment: 'confirmed',
    transactionDetails: 'none',
    rewards: false,
    maxSupportedTransactionVersion: shape.HIGHEST_TRANSACTION_VERSION,
  };
  for (let tries = 1; tries <= BLOCK_TRIES; tries += 1) {
    const block = await node.call('getBlock', [Number(slot), options], shape.blockAnswer).catch(notYet);
    if (block?.blockhash === blockhash && block.blockHeight !== null) return block.blockHeight;
    if (block !== null) throw fault(node, `getBlock: block ${slot} does not carry blockhash ${blockhash}`);
    if (tries < BLOCK_TRIES) await sleep(BLOCK_PAUSE_MS);
  }
  throw fault(node, `getBlock: gives a blockhash of slot ${slot}, but not its block`);
}

function notYet(error: unknown): null {
  if (error instanceof RpcError && error.reaction === 'later') return null;
  throw error;
}

function fault(node: SolanaNode, why: string): DomainError {
  return new DomainError('NodeFault', `${node.name} ${why}`, { node: node.name });
}
