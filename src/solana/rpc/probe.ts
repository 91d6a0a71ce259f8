import { z } from 'zod';
import { HISTORY_OFF, nullIfNodesFail, RpcError } from './errors.ts';
import type { SolanaNode } from './node.ts';
import { identityAnswer, slotOrHeight, textAnswer, transactionAnswer, versionAnswer } from './schemas.ts';

/** A node's answers about itself. A value is null or `unknown` if the node did not return it. */
export interface NodeFacts {
  readonly genesisHash: string;
  /** Public key in base58. Two URLs with the same identity lead to one node. */
  readonly identity: string | null;
  readonly version: string | null;
  readonly firstAvailableBlock: bigint | null;
  /** Whether the node stores transactions. `firstAvailableBlock` is the first slot that it stores. */
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

/** Methods that Sluice uses but some node versions do not have. */
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

/**
 * Calls methods without parameters, so that the node's `missingMethods` become known: only a missing one returns
 * -32601.
 */
export async function probeMethods(node: SolanaNode): Promise<void> {
  await Promise.allSettled(METHODS_BY_VERSION.map((method) => node.probe(method, [], z.unknown())));
}

/** Requests a transaction that does not exist: a node with history returns null. */
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
