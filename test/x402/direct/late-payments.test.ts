import { describe, expect, it } from 'vitest';
import { LatePayments } from '../../../src/x402/direct/late-payments.ts';
import { newPayment } from '../../ledger/new-payment.ts';
import { attempt, newId, useLedger } from '../../ledger/support.ts';

const use = useLedger();
const NO_START = async () => {
  throw new Error('no start is expected');
};

function latePayments(start: (id: string) => Promise<unknown>, now?: Date): LatePayments {
  return new LatePayments({ payments: use.ledger.payments, start, latePaymentMs: 20_000 }, now);
}

function inSeconds(seconds: number): Date {
  return new Date(Date.now() + 1_000 * seconds);
}

/** A payment that is stored with its signed attempt now. */
async function sent(seller: 'gateway' | 'facilitator' = 'gateway'): Promise<string> {
  const payment = newPayment({ seller });
  const signed = attempt(payment.id, 1, { signers: [payment.feePayer], signatures: [newId('sig')] });
  await use.ledger.payments.openSigned(payment, signed);
  return payment.id;
}

async function confirmed(seller?: 'gateway' | 'facilitator'): Promise<string> {
  const id = await sent(seller);
  await use.ledger.settlements.note(id, 'confirmed', null);
  return id;
}

async function final(seller?: 'gateway' | 'facilitator'): Promise<string> {
  const id = await confirmed(seller);
  await use.ledger.attempts.settle(id, 1, { state: 'landed', slot: 7n, proof: {} });
  return id;
}

describe('the workflows of late payments', () => {
  it('start once for each payment that is not final or not served after 20 seconds, and for no other', async () => {
    const served = await final();
    await use.ledger.obligations.markServed(served, 200, null);
    await final('facilitator');
    // Its gateway starts its workflow.
    await use.ledger.payments.open(newPayment());
    const expected = [await sent(), await confirmed(), await confirmed('facilitator'), await final()];
    const started: string[] = [];
    const late = latePayments(async (id) => started.push(id));
    await late.startRuns(inSeconds(10));
    expect(started).toEqual([]);
    await late.startRuns(inSeconds(20));
    expect(started.toSorted()).toEqual(expected.toSorted());
    const next = await sent();
    await late.startRuns(inSeconds(60));
    expect(started.slice(expected.length)).toEqual([next]);
  });

  it('are tried again after a failure, and cover the time before the worker began', async () => {
    const id = await sent();
    const started: string[] = [];
    const begin = inSeconds(100);
    let start: (payment: string) => Promise<unknown> = NO_START;
    const late = latePayments((payment) => start(payment), begin);
    await expect(late.startRuns(begin)).rejects.toThrow('no start is expected');
    start = async (payment) => started.push(payment);
    await late.startRuns(begin);
    expect(started).toContain(id);
  });
});
