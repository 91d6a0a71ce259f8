import type { ScannedTransaction } from '../../domain/deposit.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getTransactionAccounts } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import { readTransaction } from './transaction.ts';

/** A finalized transaction as one node shows it, and the slot and time (Unix seconds) of its block. */
export interface ShownTransaction {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly transaction: ScannedTransaction;
}

/**
 * A finalized transaction from a second witness, to be put to the same rules as the block; null where the node shows none. Throws as
 * `SolanaNode.call` and {@link readTransaction} do, and NodeFault where it shows another one.
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
