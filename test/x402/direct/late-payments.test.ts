import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { LatePayments } from '../../../src/x402/direct/late-payments.ts';
import { newPayment } from '../../ledger/new-payment.ts';
import { attempt, newId, useLedger } from '../../ledger/support.ts';

const use = useLedger();

function latePayments(start: (id: string) => Promise<unknown>): LatePayments {
  return new LatePayments({ payments: use.ledger.payments, start, latePaymentMs: 20_000 });
}

/** A payment that was stored with its signed attempt so many seconds ago. */
async function sent(seconds: number, seller: 'gateway' | 'facilitator' = 'gateway'): Promise<string> {
  const payment = newPayment({ seller });
  const { id, feePayer } = payment;
  const signed = attempt(id, 1, { signers: [feePayer], signatures: [newId('sig')] });
  await use.ledger.payments.openSigned(payment, signed);
  const createdAt = sql<Date>`now() - ${seconds} * interval '1 second'`;
  await use.ledger.db.updateTable('payment').set({ createdAt }).where('id', '=', id).execute();
  return id;
}

async function confirmed(...payment: Parameters<typeof sent>): Promise<string> {
  const id = await sent(...payment);
  await use.ledger.settlements.note(id, 'confirmed', null);
  return id;
}

async function held(seconds: number): Promise<string> {
  const id = await sent(seconds);
  await use.ledger.settlements.note(id, 'held', { code: 'evidence_missing', message: 'no node answers' });
  return id;
}

async function final(...payment: Parameters<typeof sent>): Promise<string> {
  const id = await confirmed(...payment);
  await use.ledger.attempts.settle(id, 1, { state: 'landed', slot: 7n, proof: {} });
  return id;
}

it('the workflow of each payment starts that is not final, or not served, after 20 seconds, and of no other', async () => {
  const served = await final(30);
  await use.ledger.obligations.markServed(served, 200, null);
  await final(30, 'facilitator');
  await sent(10);
  // Its gateway starts its workflow.
  await use.ledger.payments.open(newPayment());
  const expected = [
    await sent(21),
    await confirmed(60),
    await confirmed(60, 'facilitator'),
    await final(100),
    await held(100),
  ];
  const started: string[] = [];
  const late = latePayments(async (id) => started.push(id));
  await late.startRuns();
  expect(started.toSorted()).toEqual(expected.toSorted());
  started.length = 0;
  const next = await sent(20);
  await late.startRuns();
  expect(started).toContain(next);
  expect(started).not.toContain(expected[1]);
});

it('a start that fails is tried again with the next look', async () => {
  const id = await sent(110);
  const started: string[] = [];
  let isDown = true;
  const late = latePayments(async (payment) => {
    if (isDown) throw new Error('Temporal is away');
    started.push(payment);
  });
  await expect(late.startRuns()).rejects.toThrow('Temporal is away');
  isDown = false;
  await late.startRuns();
  expect(started).toContain(id);
});
