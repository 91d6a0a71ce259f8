import { runbookOf } from '../../domain/alerts.ts';
import { presentBlockTime } from '../../domain/deposit.ts';
import type { WebhookEventType } from '../../domain/webhook.ts';
import type { RowOf } from '../database.ts';
import type { DepositEvent } from '../deposits/deposit-feed.ts';
import { depositId } from '../deposits/deposit-id.ts';
import type { DepositRow } from '../deposits/deposit-row.ts';
import type { SettlementRow } from '../settlements/settlement-row.ts';
import type { OutboxEvent } from './outbox.ts';

// Events list their public fields one by one, so that a new column is not published by accident. Fields may be added,
// never renamed or removed: see docs/webhooks.md.

/** Event for a new status of a withdrawal. `signature`: that of its transaction; null before there is one. */
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
  const data = publicDeposit(deposit);
  return { type: `deposit.${kind}`, entity: `deposit/${data.id}`, data: { sequence, ...data } };
}

/** The public fields of a deposit in the API and in webhooks, without links, which the API adds. */
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
