import { runbookOf } from '../../domain/alerts.ts';
import { presentBlockTime } from '../../domain/deposit.ts';
import type { WebhookEventType } from '../../domain/webhook.ts';
import type { RowOf } from '../database.ts';
import type { DepositEvent } from '../deposits/deposit-feed.ts';
import { depositId } from '../deposits/deposit-id.ts';
import type { DepositRow } from '../deposits/deposit-row.ts';
import type { SettlementRow } from '../settlements/settlement-row.ts';
import type { OutboxEvent } from './outbox.ts';

/**
 * The public form of our rows, field by field, so that no new column is published unnoticed. Add fields, never
 * rename or remove one. See docs/webhooks.md.
 */

/** The settlement of a withdrawal has a new status. `signature`: of its transaction, null before there is one. */
export function withdrawalOutboxEvent(
  type: WebhookEventType,
  { id, status, reason, updatedAt }: SettlementRow,
  withdrawal: RowOf<'withdrawal'> & { readonly signature: string | null },
): OutboxEvent {
  const { asset, amount, amountReceived, destination, memo, signature } = withdrawal;
  const data = {
    id,
    status,
    reason,
    asset,
    amount,
    amountReceived,
    destination,
    memo,
    signature,
    updatedAt,
  };
  return { type, entity: `withdrawal/${id}`, data };
}

export function depositOutboxEvent({ sequence, kind, deposit }: Omit<DepositEvent, 'at'>): OutboxEvent {
  const facts = publicDeposit(deposit);
  return { type: `deposit.${kind}`, entity: `deposit/${facts.id}`, data: { sequence, ...facts } };
}

/** A deposit as API and webhooks show it, without the links, which the caller adds. */
export function publicDeposit(deposit: DepositRow) {
  const { slot, blockhash, time, account, wallet, userRef, asset, amount, state, reason } = deposit;
  return {
    id: depositId(deposit),
    signature: deposit.signature,
    slot: slot.toString(),
    blockhash,
    blockTime: presentBlockTime(time),
    account,
    wallet,
    userRef,
    asset,
    amount: amount.toString(),
    state,
    reason,
  };
}

export function alertOutboxEvent(type: 'alert.raised' | 'alert.closed', alert: RowOf<'alert'>): OutboxEvent {
  const { position, kind, subject, message, details, raisedAt, lastSeenAt, count, closedAt } = alert;
  const runbook = runbookOf(kind);
  const data = { kind, subject, message, runbook, details, raisedAt, lastSeenAt, count, closedAt };
  return { type, entity: `alert/${position}`, data };
}
