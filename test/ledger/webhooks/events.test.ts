import { expect, it } from 'vitest';
import { eventOfStatus } from '../../../src/domain/webhook.ts';
import { depositId } from '../../../src/ledger/deposits/deposit-id.ts';
import {
  alertOutboxEvent,
  depositOutboxEvent,
  withdrawalOutboxEvent,
} from '../../../src/ledger/webhooks/events.ts';
import { inflow } from '../chain-of-blocks.ts';

const AT = new Date(0);
/** A column that is not public. */
const INTERNAL = { internal: 'internal' };

const WITHDRAWAL = {
  id: 'order-17',
  fingerprint: 'f',
  asset: 'SOL',
  amount: 5n,
  amountReceived: null,
  destination: 'd',
  acceptEmptyWallet: false,
  memo: null,
  reasonCode: null,
  reasonMessage: null,
  createdAt: AT,
  updatedAt: AT,
};
const ALERT = { kind: 'node_lagging', subject: 'a', message: 'm', details: {}, count: 1 } as const;

it('an event has the public fields, and no other column', () => {
  const deposit = {
    ...inflow('wallet', 5n),
    ...INTERNAL,
    id: 1n,
    slot: 7n,
    blockhash: null,
    time: 60n,
    userRef: null,
    state: 'final' as const,
    finalizedAt: AT,
    confirmedBy: 'second',
    createdAt: AT,
    updatedAt: AT,
  };
  const events = [
    depositOutboxEvent({ sequence: 3n, kind: 'final', deposit }),
    alertOutboxEvent('alert.raised', {
      ...ALERT,
      ...INTERNAL,
      position: 9n,
      raisedAt: AT,
      lastSeenAt: AT,
      closedAt: null,
    }),
    withdrawalOutboxEvent(
      'withdrawal.sending',
      { ...WITHDRAWAL, ...INTERNAL, status: 'sending' } as never,
      { ...WITHDRAWAL, ...INTERNAL, signature: 'signature' } as never,
    ),
  ].map((news) => [news?.type, news?.entity, Object.keys(news?.data ?? {}).join(' ')]);
  expect(events).toEqual([
    [
      'deposit.final',
      `deposit/${depositId(deposit)}`,
      'sequence id signature slot blockhash blockTime account wallet userRef asset amount state reason',
    ],
    ['alert.raised', 'alert/9', 'kind subject message runbook details raisedAt lastSeenAt count closedAt'],
    [
      'withdrawal.sending',
      'withdrawal/order-17',
      'id status reason asset amount amountReceived destination memo signature updatedAt',
    ],
  ]);
});

it('a withdrawal that was only requested has no event', () => {
  for (const status of ['requested', 'preparing'] as const) expect(eventOfStatus(status)).toBeNull();
});
