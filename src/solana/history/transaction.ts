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

/** A finalized transaction, with the slot and time (Unix seconds) of its block. */
interface NodeTransaction {
  readonly slot: bigint;
  readonly time: bigint | null;
  readonly transaction: ScannedTransaction;
}

/**
 * One node's copy of a finalized transaction, checked by the same rules as a transaction in a block. Null if the node
 * does not have the transaction. Throws as `SolanaNode.call` and {@link readTransaction} do, and NodeFault if the node
 * returns a different transaction.
 */
export async function fetchTransaction(node: SolanaNode, signature: string): Promise<NodeTransaction | null> {
  const answer = await getTransactionAccounts(node, signature);
  if (answer === null) return null;
  const { name, maxTransactionVersion } = node;
  const transaction = readTransaction(answer, { node: name, maxTransactionVersion });
  if (transaction.signature !== signature)
    throw new NodeFault(
      name,
      `getTransaction: returned transaction ${transaction.signature} instead of ${signature}`,
    );
  return { slot: answer.slot, time: answer.blockTime, transaction };
}

/**
 * Names of the nodes that deny an incoming transfer. Such a node returns the transaction without an increase of the
 * account's balance, or proves that the transaction is not in the slot. Other answers deny nothing.
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

/** Base units that the account received. The rules for assets are not applied, so that any received amount counts. */
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
 * One node's copy of a transaction in a finalized slot. `absent`: the node's block in that slot does not contain the
 * transaction, the slot was skipped, or the transaction is in another slot. `unknown`: the node's answers decide
 * nothing. Throws as `SolanaNode.call` does.
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

/** Null if the node reports the block as missing. */
async function blockAt(node: SolanaNode, slot: bigint) {
  try {
    return await getBlock(node, slot, { commitment: 'finalized', transactionDetails: 'signatures' });
  } catch (error) {
    if (isBlockMissing(error)) return null;
    throw error;
  }
}
