import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Ledger, openLedger } from '../../../src/ledger/ledger.ts';
import type { NewPayment } from '../../../src/ledger/x402/payments.ts';
import { ANONYMOUS, newPayment } from '../new-payment.ts';
import { attempt, newId, resume, useLedger } from '../support.ts';

const use = useLedger();
const NOTE = { actor: 'ops', reason: 'we look at it' };

function openSigned(payment: NewPayment, ledger: Ledger = use.ledger) {
  const { id, feePayer } = payment;
  const signed = attempt(id, 1, { signers: [feePayer], signatures: [newId('sig')], isSignedHere: true });
  return ledger.payments.openSigned(payment, signed);
}

async function stored({ id }: NewPayment) {
  const [payment, settlement, attempts] = await Promise.all([
    use.ledger.payments.find(id),
    use.ledger.settlements.find(id),
    use.ledger.attempts.of(id),
  ]);
  return [payment?.state, settlement?.status, ...attempts.map(({ state }) => state)];
}

describe('a payment that is opened with its signed attempt', () => {
  it('is stored with its settlement and the attempt, and follows the settlement', async () => {
    const payment = newPayment();
    expect(await openSigned(payment)).toMatchObject({
      kind: 'opened',
      attempt: { n: 1, state: 'signed', kind: 'x402', signature: expect.any(String) },
    });
    expect(await stored(payment)).toEqual(['settling', 'sending', 'signed']);
    expect(await use.ledger.payments.find(payment.id)).toMatchObject({ leaseHolder: payment.lease.holder });
    await use.ledger.settlements.note(payment.id, 'confirmed', null);
    expect(await stored(payment)).toEqual(['owed', 'confirmed', 'signed']);
    await use.ledger.attempts.settle(payment.id, 1, { state: 'landed', slot: 7n, proof: {} });
    expect(await stored(payment)).toEqual(['owed', 'finalized', 'landed']);
  });

  it('is opened once, however many processes open it at once, by this way or the other', async () => {
    const payment = newPayment();
    const openings = Array.from({ length: 8 }, (_, index) =>
      index % 2 === 0 ? openSigned(payment) : use.ledger.payments.open(payment),
    );
    const kinds = (await Promise.all(openings)).map(({ kind }) => (kind === 'taken' ? 'known' : kind));
    expect(kinds.toSorted()).toEqual([...Array(7).fill('known'), 'opened']);
    expect(await use.ledger.attempts.of(payment.id)).toHaveLength(
      kinds.findIndex((kind) => kind === 'opened') % 2 === 0 ? 1 : 0,
    );
  });

  it('is not stored, nor is its attempt, if its payment identifier is used', async () => {
    const caller = { ...ANONYMOUS, identifier: newId('pay_0123456789abcdef') };
    const first = newPayment({ caller });
    await use.ledger.payments.open(first);
    const second = newPayment({ caller, payer: first.payer });
    expect(await openSigned(second)).toEqual({ kind: 'taken' });
    expect(await stored(second)).toEqual([undefined, undefined]);
  });

  it('is refused without all signatures', async () => {
    const payment = newPayment();
    const unsigned = attempt(payment.id, 1, { signers: [payment.feePayer] });
    await expect(use.ledger.payments.openSigned(payment, unsigned)).rejects.toThrow('is not signed');
    expect(await stored(payment)).toEqual([undefined, undefined]);
  });

  it('is stopped by a pause, by a pause of its fee payer and by an alert about it, and nothing is stored', async () => {
    const payment = newPayment({ feePayer: newId('key') });
    for (const scope of ['all', 'kind/x402', `wallet/${payment.feePayer}`] as const) {
      await use.ledger.pauses.begin({ ...NOTE, scope });
      expect(await openSigned(payment)).toMatchObject({ kind: 'stopped', reason: { code: 'paused' } });
      await resume(use.ledger);
    }
    await use.ledger.alerts.raise({ kind: 'maybe_paid', subject: payment.id, message: 'a message' });
    expect(await openSigned(payment)).toMatchObject({ kind: 'stopped', reason: { code: 'maybe_paid' } });
    expect(await stored(payment)).toEqual([undefined, undefined]);
    await resume(use.ledger);
  });
});

describe('a pause that races an opening', () => {
  it('waits for an opening in progress, and stops the next one', async () => {
    const [first, second] = [newPayment(), newPayment()];
    const other = await openLedger(use.url);
    try {
      // An uncommitted row with the id of the first payment keeps the opening waiting after its check for pauses.
      const holding = await heldRow(other, first);
      const opening = openSigned(first);
      await waiting(other, 'transactionid', 1);
      let isPaused = false;
      const pausing = use.ledger.pauses.begin(NOTE).then(() => (isPaused = true));
      await waiting(other, 'advisory', 1);
      // The same payment again, and another one, queue behind the pause.
      const later = [openSigned(first), openSigned(second)];
      await waiting(other, 'advisory', 3);
      expect(isPaused).toBe(false);
      await holding.rollback().execute();
      expect(await opening).toMatchObject({ kind: 'opened' });
      await pausing;
      expect((await Promise.all(later)).map(({ kind }) => kind)).toEqual(['stopped', 'stopped']);
      expect(await stored(first)).toEqual(['settling', 'sending', 'signed']);
      expect(await stored(second)).toEqual([undefined, undefined]);
    } finally {
      await resume(use.ledger);
      await other.close();
    }
  });
});

/** A transaction that has inserted the payment and has not committed. */
async function heldRow(
  other: Ledger,
  { lease: _lease, answer: _answer, request: _request, ...row }: NewPayment,
) {
  const trx = await other.db.startTransaction().execute();
  const json = { terms: JSON.stringify(row.terms), caller: JSON.stringify(row.caller) };
  await trx
    .insertInto('payment')
    .values({ ...row, ...json, state: 'unmatched' })
    .execute();
  return trx;
}

async function waiting(other: Ledger, locktype: 'advisory' | 'transactionid', count: number): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ n: number }>`select count(*)::integer as n from pg_locks
      where locktype = ${locktype} and not granted
        and (${locktype} = 'transactionid' or database = (select oid from pg_database where datname = current_database()))
        and pid in (select pid from pg_stat_activity where datname = current_database())`.execute(other.db);
    if ((rows[0]?.n ?? 0) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
