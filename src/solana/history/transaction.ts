import { findingOfTransaction } from '../../domain/credits.ts';
import type { BlockHeader, Movement, ScannedTransaction } from '../../domain/deposit.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getBlock, getBlocksWithLimit, getTransactionAccounts } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import { isBlockMissing } from '../scan/header-quorum.ts';
import { readTransaction } from '../scan/transaction.ts';
import type { WalletSignature } from './pages.ts';

/** A finalized transaction from one node, and the slot and time (Unix seconds) of its block. */
interface NodeTransaction {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly transaction: ScannedTransaction;
}

/**
 * A finalized transaction from a second node, checked by the same rules as a block; null if the node does not have
 * it. Throws as `SolanaNode.call` and {@link readTransaction} do, and NodeFault if the node returns another
 * transaction.
 */
export async function fetchTransaction(node: SolanaNode, signature: string): Promise<NodeTransaction | null> {
  const answer = await getTransactionAccounts(node, signature);
  if (answer === null) return null;
  const { name, maxTransactionVersion } = node;
  const transaction = readTransaction(answer, { node: name, maxTransactionVersion });
  if (transaction.signature !== signature)
    throw new NodeFault(name, `getTransaction: returns ${transaction.signature} for ${signature}`);
  return { slot: answer.slot, time: answer.blockTime, transaction };
}

/**
 * The nodes that deny a received amount now. Such a node returns the transaction in that finalized slot without a
 * gain of the account, or the slot without the transaction. A node that returns neither does not count.
 */
export async function denyingNodes(
  pool: NodePool,
  transfer: Movement & Pick<BlockHeader, 'slot'>,
): Promise<readonly string[]> {
  const denials = await pool.all(async (node) => {
    const transaction = await transactionIn(node, transfer);
    return (
      transaction === 'absent' || (transaction !== 'unknown' && receivedAmount(transaction, transfer) === 0n)
    );
  });
  return answersIn(denials).flatMap(({ node, answer }) => (answer ? [node] : []));
}

/** Base units that arrived at the account. Ownership alone decides, so no asset rules are needed. */
function receivedAmount(transaction: ScannedTransaction, { wallet, account, asset }: Movement): bigint {
  const { inflows } = findingOfTransaction(transaction, {
    kindOf: (address) => (address === wallet ? 'deposit' : undefined),
    ataOf: () => '',
    asset: () => undefined,
    isAttempt: () => false,
  });
  return inflows.find((one) => one.account === account && one.asset === asset)?.amount ?? 0n;
}

/**
 * A node's copy of a transaction in a finalized slot. `absent`: its chain has another block there, or none, or the
 * transaction in another slot. `unknown`: it returns neither the transaction nor the block in its place. Throws as
 * `SolanaNode.call` does.
 */
export async function transactionIn(
  node: SolanaNode,
  { signature, slot }: WalletSignature,
): Promise<ScannedTransaction | 'absent' | 'unknown'> {
  const found = await fetchTransaction(node, signature);
  if (found !== null) return found.slot === slot ? found.transaction : 'absent';
  const block = await blockAt(node, slot);
  if (block !== null) return block.signatures?.includes(signature) === false ? 'absent' : 'unknown';
  const [next] = await getBlocksWithLimit(node, slot, 1);
  const child = next === undefined || next === slot ? null : await blockAt(node, next);
  return child !== null && child.parentSlot < slot ? 'absent' : 'unknown';
}

/** Null if the node answers that it has no block there. */
async function blockAt(node: SolanaNode, slot: bigint) {
  try {
    return await getBlock(node, slot, { commitment: 'finalized', transactionDetails: 'signatures' });
  } catch (error) {
    if (isBlockMissing(error)) return null;
    throw error;
  }
}
