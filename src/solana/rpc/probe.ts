import { z } from 'zod';
import { HISTORY_OFF, nullIfNodesFail, RpcError } from './errors.ts';
import type { SolanaNode } from './node.ts';
import { identityAnswer, slotOrHeight, textAnswer, transactionAnswer, versionAnswer } from './schemas.ts';

/** A node's answers about itself; null or `unknown` if it did not answer. */
export interface NodeFacts {
  readonly genesisHash: string;
  /** base58; two URLs with the same identity lead to one node. */
  readonly identity: string | null;
  readonly version: string | null;
  readonly firstAvailableBlock: bigint | null;
  /** Whether the node keeps transactions at all; `firstAvailableBlock` is how far back. */
  readonly history: 'on' | 'off' | 'unknown';
}

export type Clock = () => number;

export const UNKNOWN_FACTS = {
  genesisHash: null,
  identity: null,
  version: null,
  firstAvailableBlock: null,
  history: 'unknown',
} as const;

/** Methods that Sluice uses and that some node versions lack. */
const METHODS_BY_VERSION = [
  'getLatestBlockhash',
  'isBlockhashValid',
  'getFeeForMessage',
  'getRecentPrioritizationFees',
  'getBlocksWithLimit',
  'getBlockHeight',
  'getFees',
  'getFeeCalculatorForBlockhash',
] as const;

const UNUSED_SIGNATURE = '1'.repeat(64);

/** Probes a node's identity. Throws if the node does not return its cluster. */
export async function probeFacts(node: SolanaNode): Promise<NodeFacts> {
  const [genesisHash, identity, version, firstAvailableBlock, history] = await Promise.all([
    probeGenesis(node),
    node.probe('getIdentity', [], identityAnswer).catch(nullIfNodesFail),
    node.probe('getVersion', [], versionAnswer).catch(nullIfNodesFail),
    node.probe('getFirstAvailableBlock', [], slotOrHeight).catch(nullIfNodesFail),
    probeHistory(node),
  ]);
  return { genesisHash, identity, version, firstAvailableBlock, history };
}

export function probeGenesis(node: SolanaNode): Promise<string> {
  return node.probe('getGenesisHash', [], textAnswer);
}

export function probeFinalized(node: SolanaNode): Promise<bigint> {
  return node.probe('getSlot', [{ commitment: 'finalized' }], slotOrHeight);
}

/** Finds the methods that a node lacks: a node refuses a call without parameters differently if it has the method. */
export async function probeMethods(node: SolanaNode): Promise<void> {
  await Promise.allSettled(METHODS_BY_VERSION.map((method) => node.probe(method, [], z.unknown())));
}

// A node with history answers null for a signature that does not exist.
async function probeHistory(node: SolanaNode): Promise<NodeFacts['history']> {
  const options = {
    encoding: 'base64',
    commitment: 'finalized',
    maxSupportedTransactionVersion: node.maxTransactionVersion,
  };
  try {
    await node.probe('getTransaction', [UNUSED_SIGNATURE, options], transactionAnswer);
    return 'on';
  } catch (error) {
    return error instanceof RpcError && error.code === HISTORY_OFF ? 'off' : 'unknown';
  }
}
