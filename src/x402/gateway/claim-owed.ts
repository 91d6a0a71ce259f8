import { randomUUID } from 'node:crypto';
import type { OwedPayment, PaymentRow } from '../../ledger/x402/payments.ts';
import { acceptingSlot } from '../../solana/proof/adopted.ts';
import { presenceOf } from '../../solana/proof/presence.ts';
import { readSigned } from '../../solana/tx/signed-transaction.ts';
import { idOf, paymentRow } from '../purchase.ts';
import { firstLeaseMs, type Order, type SaleDeps, saleRow } from './sale.ts';

/**
 * Owed payment that is served in place of settling a new one. `held`: `holder` has its lease, and the new payment is
 * stored as replaced. `known`: another request has stored the new payment.
 */
export type OwedClaim =
  | { readonly kind: 'held' | 'known'; readonly payment: PaymentRow; readonly holder: string }
  | { readonly kind: 'identifier-taken' };

/**
 * The payments that can be served in place of settling a new one for the same payer and request, oldest first: owed,
 * without a valid lease, and permitted to be sent to the upstream.
 */
export function servableInstead(
  payments: readonly Omit<OwedPayment, 'caller'>[],
  isRepeatable: boolean,
  nowMs: number,
): readonly string[] {
  return payments
    .filter(({ seller, state }) => seller === 'gateway' && state === 'owed')
    .filter(({ leaseUntil }) => leaseUntil === null || leaseUntil.getTime() < nowMs)
    .filter(({ isAnswered, askedAt }) => isAnswered || isRepeatable || askedAt === null)
    .toSorted((one, other) => (one.position < other.position ? -1 : 1))
    .map(({ id }) => id);
}

/**
 * Claims an owed payment of the payer for the same request. Null if there is none: the new payment must be settled.
 * Sends the new payment to no node, so that it never lands if an owed one is claimed.
 */
export async function claimOwed(deps: SaleDeps, order: Order): Promise<OwedClaim | null> {
  const { payments } = deps.ledger;
  const { payer } = order.payment;
  const isRepeatable = order.request?.isRepeatable ?? true;
  const owed = await payments.listOwed(payer, order.requestHash);
  const candidates = servableInstead(owed, isRepeatable, Date.now());
  if (candidates.length === 0 || !(await isFromPayer(deps, order))) return null;
  const holder = randomUUID();
  const lease = { holder, ms: firstLeaseMs(order) };
  for (const id of candidates) {
    const { caller } = order;
    const isSharedIdentifier = owed.some(
      (row) => row.id === id && row.caller.identifier === caller.identifier,
    );
    const ownCaller = isSharedIdentifier ? { ...caller, identifier: null } : caller;
    const row = paymentRow(order, 0n, saleRow({ ...order, caller: ownCaller }));
    const result = await payments.replace(row, id, lease);
    if (result === 'identifier-taken') return { kind: result };
    if (result === 'replaced') return { kind: 'held', payment: await payments.get(id), holder };
    if (result === 'known') return { kind: 'known', payment: await payments.get(idOf(order)), holder };
  }
  return null;
}

/**
 * True if only the payer can have made the transaction: the payer signed it, and it is not copied from the chain. A
 * transaction that its buyer sent is settled for itself.
 */
async function isFromPayer({ chain }: SaleDeps, order: Order): Promise<boolean> {
  const { payer, signature, blockhash } = order.payment;
  if (order.landedSlot !== null || readSigned(order.wire)?.signers.includes(payer) !== true) return false;
  // Without the fee payer's signature, which only this server gives, it has never been on chain.
  if (signature === null) return true;
  // An expired transaction can be older than the nodes' recent statuses.
  if ((await acceptingSlot(chain.pool, blockhash)) === null) return false;
  return (await presenceOf(chain.pool, signature, false)).kind === 'absent';
}
