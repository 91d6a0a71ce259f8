import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import type { DepositRow } from '../../ledger/deposits/deposit-row.ts';
import { denyingNodes } from '../../solana/history/transaction.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';

/**
 * Drops the deposit with this public id if a quorum of nodes denies it now. Idempotent.
 *
 * Returns the dropped deposit. Throws NotFound if the deposit does not wait for a quorum, NotRejectable if no
 * quorum denies it, Unavailable or NoHealthyNode if the nodes cannot be asked.
 */
export async function rejectDeposit(
  { ledger, chain = noChain }: ChainDeps,
  id: string,
  note: OperatorNote,
): Promise<DepositRow> {
  const row = await ledger.deposits.find(id);
  if (row === undefined || row.finalizedAt === null || !['pending', 'dropped'].includes(row.state))
    throw new DomainError('NotFound', `no deposit ${id} waits for a quorum`, { id });
  if (row.state === 'dropped') return row;
  const { pool } = await chain();
  const deniedBy = await denyingNodes(pool, row);
  // Nodes of another cluster would deny every deposit, so check that the URLs still lead to this one.
  await pool.confirmCluster();
  if (deniedBy.length >= pool.quorum) return ledger.rejections.reject({ row, deniedBy, ...note });
  const denial = deniedBy.length === 0 ? 'no node denies' : `not enough nodes (${deniedBy.join(', ')}) deny`;
  const message = `${denial} deposit ${id} now; ${pool.quorum} nodes must deny it`;
  throw new DomainError('NotRejectable', message, { id, deniedBy });
}
