import { z } from 'zod';
import { HISTORY_OFF, RpcError } from './errors.ts';
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

export interface Progress {
  readonly finalized: bigint;
  readonly latencyMs: number;
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

const NO_SIGNATURE = '1'.repeat(64);

/** Probes a node's identity. Throws if the node does not return its cluster. */
export async function probeFacts(node: SolanaNode): Promise<NodeFacts> {
  const [genesisHash, identity, version, firstAvailableBlock, history] = await Promise.all([
    probeGenesis(node),
    node.probe('getIdentity', [], identityAnswer).then(
      (answer) => answer.identity,
      () => null,
    ),
    node.probe('getVersion', [], versionAnswer).then(
      (answer) => answer['solana-core'],
      () => null,
    ),
    node.probe('getFirstAvailableBlock', [], slotOrHeight).catch(() => null),
    probeHistory(node),
  ]);
  return { genesisHash, identity, version, firstAvailableBlock, history };
}

export function probeGenesis(node: SolanaNode): Promise<string> {
  return node.probe('getGenesisHash', [], textAnswer);
}

export async function probeProgress(node: SolanaNode, now: Clock): Promise<Progress> {
  const started = now();
  const finalized = await node.probe('getSlot', [{ commitment: 'finalized' }], slotOrHeight);
  return { finalized, latencyMs: now() - started };
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
    await node.probe('getTransaction', [NO_SIGNATURE, options], transactionAnswer);
    return 'on';
  } catch (error) {
    return error instanceof RpcError && error.code === HISTORY_OFF ? 'off' : 'unknown';
  }
}
