import { setTimeout as sleep } from 'node:timers/promises';
import type { StatusObservation } from '../domain/attempt.ts';
import type { PaymentRow } from '../ledger/x402/payments.ts';
import { readStatuses } from '../solana/proof/statuses.ts';
import type { NodePool } from '../solana/rpc/pool.ts';
import { answersIn } from '../solana/rpc/quorum.ts';
import type { PurchaseDeps } from './purchase.ts';

/** About one slot: the second node is behind the first one by a few slots at most. */
const POLL_MS = 400;

/**
 * True if one node's report does not suffice to serve the payment. `confirmedByTwoAbove`: base units; null means one unit
 * of the asset.
 */
export function needsSecondNode(
  pool: Pick<NodePool, 'quorum'>,
  confirmedByTwoAbove: bigint | null,
  { terms: { amount, decimals } }: Pick<PaymentRow, 'terms'>,
): boolean {
  return pool.quorum > 1 && BigInt(amount) > (confirmedByTwoAbove ?? 10n ** BigInt(decimals));
}

/**
 * True once a quorum of nodes reports the payment as confirmed, which one node has reported before. False if that takes
 * longer than `withinMs`: a payment of the gateway is then served by its workflow once it is final.
 */
export async function isConfirmedByQuorum(
  { chain: { pool }, ledger }: Pick<PurchaseDeps, 'chain' | 'ledger'>,
  id: string,
  signature: string,
  withinMs: number,
): Promise<boolean> {
  const end = performance.now() + withinMs;
  for (;;) {
    // Two nodes have proved a final payment, and they can have removed its recent status.
    if ((await ledger.settlements.get(id)).status === 'finalized') return true;
    const results = await pool.some(
      (node) => readStatuses(node, [signature], false),
      ([status]) => isConfirmed(status),
    );
    const confirmations = answersIn(results).filter(({ answer: [status] }) => isConfirmed(status));
    if (confirmations.length >= pool.quorum) return true;
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
}

function isConfirmed(status: StatusObservation | undefined): boolean {
  return status?.kind === 'seen' && status.commitment !== 'processed' && status.error === null;
}
