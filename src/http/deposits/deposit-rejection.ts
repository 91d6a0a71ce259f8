import { DomainError } from '../../domain/errors.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import type { DepositRow } from '../../ledger/deposits/deposit-row.ts';
import { denyingNodes } from '../../solana/history/transaction.ts';
import { type ChainDeps, noChain } from '../no-chain.ts';

/**
 * Drops the deposit with this public id if a quorum of nodes denies it now. Idempotent.
 *
 * Returns the dropped deposit. Throws NotFound if it is not waiting, NotRejectable if no quorum denies it,
 * Unavailable or NoHealthyNode if the nodes cannot be asked.
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
  // A URL that now leads to another cluster would deny every deposit.
  await pool.confirmCluster();
  if (deniedBy.length >= pool.quorum) return ledger.rejections.reject({ row, deniedBy, ...note });
  const denial = deniedBy.length === 0 ? 'no node denies' : `only ${deniedBy.join(', ')} denies`;
  throw new DomainError('NotRejectable', `${denial} it now; ${pool.quorum} are needed`, { id, deniedBy });
}
