import type { ScannedTransaction } from '../../domain/deposit.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getTransactionAccounts } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { WatchSet } from '../scan/bytes/watch-set.ts';
import { showBlock } from '../scan/searched-block.ts';
import { readTransaction } from '../scan/transaction.ts';

/** A finalized transaction from one node, and the slot and time (Unix seconds) of its block. */
export interface ShownTransaction {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly transaction: ScannedTransaction;
}

export type FetchTransaction = (node: SolanaNode, signature: string) => Promise<ShownTransaction | null>;

/**
 * Like {@link fetchTransaction} for transactions of one slot: each node's block is read once. Null for a transaction
 * that the block lacks, and if the node does not return the block before `end` aborts.
 */
export function fetchFromBlock(slot: bigint, watched: WatchSet, end?: AbortSignal): FetchTransaction {
  const blocks = new Map<SolanaNode, Promise<ReadonlyMap<string, ShownTransaction>>>();
  const blockOf = (node: SolanaNode) => {
    const block = blocks.get(node) ?? transactionsOf(node, slot, watched, end).catch(() => new Map());
    blocks.set(node, block);
    return block;
  };
  return async (node, signature) => (await blockOf(node)).get(signature) ?? null;
}

async function transactionsOf(
  node: SolanaNode,
  slot: bigint,
  watched: WatchSet,
  end: AbortSignal | undefined,
): Promise<ReadonlyMap<string, ShownTransaction>> {
  const { header, transactions } = await showBlock(node, slot, 'finalized', watched, undefined, end);
  return new Map(
    transactions.map((transaction) => [transaction.signature, { slot, time: header.time, transaction }]),
  );
}

/**
 * A finalized transaction from a second node, checked by the same rules as a block; null if the node does not have
 * it. Throws as `SolanaNode.call` and {@link readTransaction} do, and NodeFault if the node returns another
 * transaction.
 */
export async function fetchTransaction(
  node: SolanaNode,
  signature: string,
): Promise<ShownTransaction | null> {
  const shown = await getTransactionAccounts(node, signature);
  if (shown === null) return null;
  const { name, maxTransactionVersion } = node;
  const transaction = readTransaction(shown, { node: name, maxTransactionVersion });
  if (transaction.signature !== signature)
    throw new NodeFault(name, `getTransaction: shows ${transaction.signature} for ${signature}`);
  return { slot: shown.slot, time: shown.blockTime, transaction };
}
