import { arrivedBy } from '../../domain/balance-changes.ts';
import type { BlockHeader, Movement, ScannedTransaction } from '../../domain/deposit.ts';
import { getBlock, getBlocksWithLimit } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import { tellsOfAbsence } from '../scan/header-quorum.ts';
import { fetchTransaction } from './transaction.ts';

type Said = Pick<Movement, 'signature'> & Pick<BlockHeader, 'slot'>;

/**
 * The nodes that deny a received amount now. Such a node returns the transaction in that finalized slot without a
 * gain of the account, or the slot without the transaction. A node that returns neither says nothing. Never throws.
 */
export async function deniersOf(
  pool: NodePool,
  arrival: Movement & Pick<BlockHeader, 'slot'>,
): Promise<readonly string[]> {
  const denials = await pool.all(async (node) => {
    const shown = await transactionIn(node, arrival);
    return shown === 'absent' || (shown !== 'untold' && arrivedBy(shown, arrival) === 0n);
  });
  return answersIn(denials).flatMap(({ node, answer }) => (answer ? [node] : []));
}

/**
 * What a node has of a transaction in a finalized slot. `absent`: its chain has another block there, or none, or the
 * transaction in another slot. `untold`: it returns neither the transaction nor the block in its place. Throws as
 * `SolanaNode.call` does.
 */
export async function transactionIn(
  node: SolanaNode,
  { signature, slot }: Said,
): Promise<ScannedTransaction | 'absent' | 'untold'> {
  const shown = await fetchTransaction(node, signature);
  if (shown !== null) return shown.slot === slot ? shown.transaction : 'absent';
  const block = await blockAt(node, slot);
  if (block !== null) return block.signatures?.includes(signature) === false ? 'absent' : 'untold';
  const [next] = await getBlocksWithLimit(node, slot, 1);
  const child = next === undefined || next === slot ? null : await blockAt(node, next);
  return child !== null && child.parentSlot < slot ? 'absent' : 'untold';
}

/** Null if the node answers that it has no block there. */
async function blockAt(node: SolanaNode, slot: bigint) {
  try {
    return await getBlock(node, slot, { commitment: 'finalized', transactionDetails: 'signatures' });
  } catch (error) {
    if (tellsOfAbsence(error)) return null;
    throw error;
  }
}
