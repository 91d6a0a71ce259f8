import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { SettlementStatus } from '../../../src/domain/settlement.ts';
import { EVENTS_BY_KIND } from '../../../src/ledger/ledger.ts';
import { enterStatus } from '../../../src/ledger/settlements/settlement-row.ts';
import { Obligations } from '../../../src/ledger/x402/obligations.ts';
import { Payments } from '../../../src/ledger/x402/payments.ts';
import { textCipherOf } from '../../../src/platform/encryption.ts';
import { ANONYMOUS, hex, newPayment } from '../new-payment.ts';
import { attempt, PLENTY, useLedger } from '../support.ts';

const use = useLedger();
const answer = { status: 200, headers: { 'content-type': 'text/plain' }, body: 'aGVsbG8=' };

/** Moves the settlement as the core does. */
async function enter(id: string, ...statuses: readonly SettlementStatus[]): Promise<void> {
  for (const status of statuses)
    await use.ledger.db.transaction().execute((trx) => enterStatus(trx, EVENTS_BY_KIND, id, status));
}

async function owed(change: Parameters<typeof newPayment>[0] = {}) {
  const payment = newPayment(change);
  await use.ledger.payments.open(payment);
  await enter(payment.id, 'preparing', 'sending', 'confirmed');
  return payment;
}

async function stateOf(id: string): Promise<string | undefined> {
  return (await use.ledger.payments.find(id))?.state;
}

async function storedDataOf(id: string) {
  return use.ledger.db.selectFrom('payment').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

describe('a recorded payment', () => {
  it('has a settlement of its own from the same moment', async () => {
    const payment = newPayment();
    expect(await use.ledger.payments.open(payment)).toMatchObject({
      kind: 'opened',
      payment: { id: payment.id, state: 'settling' },
    });
    expect(await use.ledger.settlements.get(payment.id)).toMatchObject({ kind: 'x402', status: 'requested' });
  });

  it('is opened once, however many processes open it at once', async () => {
    const payment = newPayment();
    const opened = await Promise.all(Array.from({ length: 8 }, () => use.ledger.payments.open(payment)));
    expect(opened.filter(({ kind }) => kind === 'opened')).toHaveLength(1);
    expect(opened.filter(({ kind }) => kind === 'known')).toHaveLength(7);
  });

  it('permits any number of other payments of the same payer for the same request', async () => {
    const { payer, requestHash } = await owed();
    const others = Array.from({ length: 8 }, () => newPayment({ payer, requestHash }));
    const opened = await Promise.all(others.map((other) => use.ledger.payments.open(other)));
    expect(opened.map(({ kind }) => kind)).toEqual(others.map(() => 'opened'));
  });

  it('keeps its identifier from other payments of the same payer and route', async () => {
    const caller = { ...ANONYMOUS, identifier: 'pay_0123456789abcdef' };
    const first = newPayment({ caller });
    await use.ledger.payments.open(first);
    const second = newPayment({ caller, payer: first.payer });
    expect(await use.ledger.payments.open(second)).toEqual({ kind: 'identifier-taken' });
    expect(await use.ledger.payments.open(newPayment({ caller }))).toMatchObject({ kind: 'opened' });
  });

  it('that is owed replaces one of several concurrent new payments, which is never settled', async () => {
    const { payments, obligations } = use.ledger;
    const first = await owed();
    const { payer, requestHash } = first;
    const replacing = async (change: Parameters<typeof newPayment>[0] = {}) => {
      const { request: _request, answer: _answer, lease: _lease, ...row } = newPayment(change);
      const lease = { holder: row.id, ms: 60_000 };
      return { row, result: await payments.replace(row, first.id, lease) };
    };
    expect((await replacing({ payer, requestHash })).result).toBe('lost');
    await obligations.release(first.id, 'me');
    expect((await payments.listOwed(payer, requestHash)).map(({ id }) => id)).toEqual([first.id]);
    const raced = await Promise.all(Array.from({ length: 8 }, () => replacing({ payer, requestHash })));
    const [winner, ...others] = raced.filter(({ result }) => result === 'replaced');
    expect([others.length, raced.filter(({ result }) => result === 'lost').length]).toEqual([0, 7]);
    const { id = '' } = winner?.row ?? {};
    expect(await payments.find(id)).toMatchObject({ state: 'void', replacedBy: first.id });
    expect(await use.ledger.settlements.find(id)).toBeUndefined();
    expect(await payments.open(newPayment({ id }))).toMatchObject({ kind: 'known', payment: { id } });
    expect(await obligations.take(first.id, { holder: 'other', ms: 1 })).toBeNull();
    expect(await obligations.take(first.id, { holder: id, ms: 60_000 })).toMatchObject({ again: false });
    await obligations.release(first.id, id);
    expect((await replacing({ id })).result).toBe('known');
    expect(await obligations.take(first.id, { holder: 'other', ms: 1 })).not.toBeNull();
  });

  it('that is replaced keeps its identifier from other payments', async () => {
    const caller = { ...ANONYMOUS, identifier: 'pay_0123456789abcdef' };
    const first = await owed();
    await use.ledger.obligations.release(first.id, 'me');
    const { request: _request, answer: _answer, lease, ...row } = newPayment({ caller, payer: first.payer });
    expect(await use.ledger.payments.replace(row, first.id, lease)).toBe('replaced');
    await use.ledger.obligations.release(first.id, lease.holder);
    const second = newPayment({ caller, payer: first.payer });
    expect(await use.ledger.payments.open(second)).toEqual({ kind: 'identifier-taken' });
    expect(await use.ledger.payments.replace({ ...row, id: second.id }, first.id, lease)).toBe(
      'identifier-taken',
    );
  });

  it('that its buyer has submitted cannot be cancelled', async () => {
    const { settlements } = use.ledger;
    const reason = { code: 'not_served', message: 'the upstream failed' };
    const [submitted, other] = [newPayment({ dialect: 'submitted', signature: hex() }), newPayment()];
    for (const payment of [submitted, other]) await use.ledger.payments.open(payment);
    await expect(settlements.cancel(submitted.id, reason)).rejects.toMatchObject({ code: 'NotCancellable' });
    expect(await stateOf(submitted.id)).toBe('settling');
    await settlements.cancel(other.id, reason);
    expect(await stateOf(other.id)).toBe('void');
  });

  it('that was unmatched until its buyer claimed it has no reason', async () => {
    const {
      request: _request,
      answer: _answer,
      lease: _lease,
      ...row
    } = newPayment({ dialect: 'submitted' });
    await use.ledger.payments.storeUnmatched({ ...row, reason: 'it was on the chain before' });
    await use.ledger.payments.open(newPayment({ ...row }));
    expect(await use.ledger.payments.find(row.id)).toMatchObject({ state: 'settling', reason: null });
  });

  it('follows its settlement', async () => {
    const { id } = newPayment();
    await use.ledger.payments.open(newPayment({ id }));
    await enter(id, 'preparing', 'sending', 'confirmed');
    expect(await stateOf(id)).toBe('owed');
    await enter(id, 'sending');
    expect(await stateOf(id)).toBe('settling');
    await enter(id, 'dead');
    expect(await stateOf(id)).toBe('void');
  });

  it('has an obligation also where its response was stored before', async () => {
    const { id } = await owed({ answer });
    expect(await use.ledger.payments.find(id)).toMatchObject({ state: 'owed', isAnswered: true });
    expect(await use.ledger.obligations.answerOf(id)).toEqual(answer);
  });

  it('that was not settled here is shown to operators, and to no upstream', async () => {
    const { request: _request, answer: _answer, lease: _lease, ...row } = newPayment();
    await use.ledger.payments.storeUnmatched({ ...row, reason: 'it was on the chain before' });
    const { rows } = await use.ledger.payments.list({ state: 'unmatched', limit: 10 });
    expect(rows.map(({ id }) => id)).toContain(row.id);
    expect(await use.ledger.obligations.take(row.id, { holder: 'me', ms: 1 })).toBeNull();
  });

  it('with too little finalized has an alert where it is served, and is unmatched where it is not', async () => {
    const listOpenAbout = async (id: string) =>
      (await use.ledger.alerts.listOpenAbout(id)).map(({ kind, details }) => ({ kind, details }));
    const landed = async (id: string, amountReceived: bigint) => {
      await use.ledger.attempts.storeSignature(id, 1, `sig-${id}`);
      await use.ledger.attempts.settle(id, 1, { state: 'landed', slot: 7n, proof: null, amountReceived });
    };
    const prepared = async () => {
      const { id, payer } = newPayment();
      await use.ledger.payments.open(newPayment({ id, payer }));
      await use.ledger.attempts.prepare(attempt(id), PLENTY);
      return { id, payer };
    };
    const [served, owing, whole] = [await prepared(), await prepared(), await prepared()];
    for (const { id } of [served, whole]) await use.ledger.obligations.markServed(id, 200, answer);
    await landed(served.id, 999n);
    await landed(owing.id, 999n);
    await landed(whole.id, 1_000n);
    expect(await listOpenAbout(served.id)).toEqual([
      {
        kind: 'payment_short',
        details: {
          route: 'GET /reports',
          payer: served.payer,
          asset: 'a mint',
          amount: '1000',
          received: '999',
        },
      },
    ]);
    expect([await stateOf(served.id), await stateOf(owing.id)]).toEqual(['served', 'unmatched']);
    expect(await storedDataOf(owing.id)).toMatchObject({
      request: null,
      leaseHolder: null,
      leaseUntil: null,
    });
    expect([...(await listOpenAbout(owing.id)), ...(await listOpenAbout(whole.id))]).toEqual([]);
  });

  it('that moved no money has no stored request or response, and no lease', async () => {
    const { id } = await owed({ answer });
    await enter(id, 'sending', 'dead');
    const deleted = { request: null, answer: null, leaseHolder: null, leaseUntil: null };
    expect(await storedDataOf(id)).toMatchObject({ state: 'void', ...deleted });
  });

  it('that has ended keeps its request, response and transaction for some days, and its row for ever', async () => {
    const { payments, obligations, settlements, db } = use.ledger;
    const age = (ids: readonly string[]) =>
      db
        .updateTable('payment')
        .set({ createdAt: sql<Date>`now() - interval '31 days'` })
        .where('id', 'in', ids)
        .execute();
    const [old, newer, unfinished, owing] = [await owed(), await owed(), await owed(), await owed()];
    for (const { id } of [old, newer, unfinished]) await obligations.markServed(id, 200, answer);
    for (const { id } of [old, newer]) await enter(id, 'finalized');
    await age([old, unfinished, owing].map(({ id }) => id));
    const before = await payments.get(old.id);
    while ((await payments.deleteOldData(30)) > 0n);
    expect(await storedDataOf(old.id)).toMatchObject({ request: null, answer: null, wire: null });
    expect(await payments.get(old.id)).toEqual({ ...before, wire: null, isAnswered: false });
    expect(await obligations.answerOf(old.id)).toBeNull();
    for (const { id } of [newer, unfinished])
      expect([(await storedDataOf(id)).wire, await obligations.answerOf(id)]).toEqual(['AQ==', answer]);
    expect(await storedDataOf(owing.id)).toMatchObject({ wire: 'AQ==', request: expect.any(String) });
    expect(await settlements.get(old.id)).toMatchObject({ status: 'finalized' });
  });

  it('counts its possible cost by key and by buyer', async () => {
    const [feePayer, payer] = [hex(), hex()];
    for (const _ of [1, 2]) await use.ledger.payments.open(newPayment({ feePayer, payer }));
    const since = new Date(Date.now() - 60_000);
    expect(await use.ledger.paymentCosts.spentSince(since, 'feePayer', feePayer)).toBe(20_000n);
    expect(await use.ledger.paymentCosts.spentSince(since, 'payer', payer)).toBe(20_000n);
    expect(await use.ledger.paymentCosts.spentSince(since, 'payer', hex())).toBe(0n);
  });
});

describe('an obligation', () => {
  it('has one holder at a time', async () => {
    const { id, request } = await owed();
    const { obligations } = use.ledger;
    expect(await obligations.take(id, { holder: 'other', ms: 60_000 })).toBeNull();
    expect(await obligations.take(id, { holder: 'me', ms: 60_000 })).toEqual({ request, again: false });
    await obligations.release(id, 'me');
    expect(await obligations.take(id, { holder: 'other', ms: 60_000 })).toMatchObject({ again: true });
    expect(await obligations.take(id, { holder: 'me', ms: 60_000 })).toBeNull();
  });

  it('may be taken by another process once its lease is over', async () => {
    const { id } = await owed();
    await use.ledger.db
      .updateTable('payment')
      .set({ leaseUntil: sql<Date>`now() - interval '1 second'` })
      .where('id', '=', id)
      .execute();
    expect(await use.ledger.obligations.take(id, { holder: 'other', ms: 60_000 })).not.toBeNull();
  });

  it('of a route that is served first counts as sent to the upstream from the beginning', async () => {
    const { id } = await owed({ isAsked: true });
    await use.ledger.obligations.release(id, 'me');
    expect(await use.ledger.obligations.take(id, { holder: 'other', ms: 1 })).toMatchObject({ again: true });
  });

  it('ends once, and deletes the request at its end', async () => {
    const { id } = await owed();
    const { obligations, db } = use.ledger;
    await obligations.markServed(id, 200, answer);
    await obligations.markRefused(id, 'late', null);
    const stored = await db.selectFrom('payment').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(stored).toMatchObject({ state: 'served', answerStatus: 200, reason: null });
    expect(stored).toMatchObject({ request: null, leaseHolder: null, leaseUntil: null });
    expect(await obligations.take(id, { holder: 'me', ms: 1 })).toBeNull();
  });

  it('of a payment that the database does not have cannot be ended', async () => {
    const { obligations } = use.ledger;
    const { id } = newPayment();
    const missing = { code: 'NotFound', message: `there is no payment ${id}` };
    await expect(obligations.markServed(id, 200, answer)).rejects.toMatchObject(missing);
    await expect(obligations.markRefused(id, 'a reason', null)).rejects.toMatchObject(missing);
    await expect(obligations.markShort(id, 1n, 'a reason')).rejects.toMatchObject(missing);
  });

  it('of an upstream that refuses is refundable, with the upstream’s answer', async () => {
    const { id } = await owed();
    const refusal = { ...answer, status: 404 };
    await use.ledger.obligations.markRefused(id, 'the upstream answered 404', refusal);
    expect(await use.ledger.payments.find(id)).toMatchObject({ state: 'refundable', answerStatus: 404 });
    expect(await use.ledger.obligations.answerOf(id)).toEqual(refusal);
  });
});

describe('the stored request and response of a buyer', () => {
  it('are unreadable without the key', async () => {
    const cipher = textCipherOf([new Uint8Array(32).fill(7)]);
    const [payments, obligations] = [
      new Payments(use.ledger.db, cipher),
      new Obligations(use.ledger.db, cipher),
    ];
    const payment = newPayment();
    await payments.open(payment);
    await enter(payment.id, 'preparing', 'sending', 'confirmed');
    const lease = { holder: 'me', ms: 60_000 };
    await expect(use.ledger.obligations.take(payment.id, lease)).rejects.toThrow('SLUICE_PAYLOAD_KEY');
    expect(await obligations.take(payment.id, lease)).toMatchObject({ request: payment.request });
    await obligations.markServed(payment.id, 200, answer);
    const stored = await use.ledger.db
      .selectFrom('payment')
      .select('answer')
      .where('id', '=', payment.id)
      .executeTakeFirstOrThrow();
    expect(stored.answer).toMatch(/^sealed:/);
    expect(await obligations.answerOf(payment.id)).toEqual(answer);
  });
});
