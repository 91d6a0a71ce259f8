import { z } from 'zod';
import { HISTORY_OFF, RpcError } from './errors.ts';
import type { SolanaNode } from './node.ts';
import { identityAnswer, slotOrHeight, textAnswer, transactionAnswer, versionAnswer } from './schemas.ts';

/** What a node says about itself. Null or `unknown` where it would not say. */
export interface NodeFacts {
  readonly genesisHash: string;
  /** base58; two URLs that answer the same one lead to one node. */
  readonly identity: string | null;
  readonly version: string | null;
  readonly firstAvailableBlock: bigint | null;
  /** Whether it keeps transactions at all; how far back says `firstAvailableBlock`. */
  readonly history: 'on' | 'off' | 'unknown';
}

/** How far a node has come, in slots, and how long it took to say so. */
export interface Progress {
  readonly processed: bigint;
  readonly finalized: bigint;
  readonly latencyMs: number;
}

/** Milliseconds of a clock that never goes back. */
export type Clock = () => number;

/** Methods that Sluice asks and that not every version of a node has. */
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

/** Ask a node who it is. Throws where it does not tell its cluster. */
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

/** Ask a node for the hash of its genesis, which names its cluster. */
export function probeGenesis(node: SolanaNode): Promise<string> {
  return node.probe('getGenesisHash', [], textAnswer);
}

/** Ask a node how far it is. */
export async function probeProgress(node: SolanaNode, now: Clock): Promise<Progress> {
  const started = now();
  const [processed, finalized] = await Promise.all(
    ['processed', 'finalized'].map((commitment) => node.probe('getSlot', [{ commitment }], slotOrHeight)),
  );
  const latencyMs = now() - started;
  return { processed: processed ?? 0n, finalized: finalized ?? 0n, latencyMs };
}

/** Let a node say which methods it does not have: a call without parameters is refused by those that it has. */
export async function probeMethods(node: SolanaNode): Promise<void> {
  await Promise.allSettled(METHODS_BY_VERSION.map((method) => node.probe(method, [], z.unknown())));
}

// A node with history answers null for a signature that nobody ever made.
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
