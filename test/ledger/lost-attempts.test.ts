import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { CANCELLED } from '../../src/domain/withdrawal.ts';
import { requestSettlements } from '../../src/ledger/settlements/settlement-row.ts';
import { attempt, codeOf, DEAD, openReservations, PLENTY, REASON, reserved, useLedger } from './support.ts';

const use = useLedger();
const OPERATOR = { actor: 'ops', reason: 'the explorer shows it' };

/** The results of each kind of end without payment for this withdrawal. */
async function ends(id: string): Promise<readonly string[]> {
  const { settlements } = use.ledger;
  const tries = [
    () => settlements.cancel(id, CANCELLED),
    () => settlements.move(id, 'rejected', REASON),
    () => settlements.move(id, 'cancelled', REASON),
  ];
  const codes: string[] = [];
  for (const end of tries) codes.push(await codeOf(end()));
  return codes;
}
const REFUSED = ['DatabaseIncomplete', 'DatabaseIncomplete', 'DatabaseIncomplete'];

afterEach(async () => {
  const { db } = use.ledger;
  await sql`delete from continuity`.execute(db);
  await sql`update alert set closed_at = now() where closed_at is null`.execute(db);
});

describe('while an attempt may be lost, no settlement ends without a payment', () => {
  it('in a restored database', async () => {
    const id = await reserved(use.ledger);
    await use.ledger.continuity.pulse();
    await sql`update continuity set identity = 'the old primary'`.execute(use.ledger.db);
    expect(await ends(id)).toEqual(REFUSED);
    expect((await use.ledger.withdrawals.get(id)).status).toBe('requested');
    await sql`delete from continuity`.execute(use.ledger.db);
    expect(await codeOf(use.ledger.settlements.cancel(id, CANCELLED))).toBe('none');
  });

  it.each(['attempt_lost', 'unknown_spend'] as const)('while an alert of kind %s is open', async (kind) => {
    const id = await reserved(use.ledger);
    await use.ledger.alerts.raise({ kind, subject: 'another', message: 'look' });
    expect(await ends(id)).toEqual(REFUSED);
    await use.ledger.alerts.close(kind, 'another');
    expect(await codeOf(use.ledger.settlements.move(id, 'rejected', REASON))).toBe('none');
  });

  it.each(['maybe_paid', 'dead_attempt_landed'] as const)('while %s names it', async (kind) => {
    const [id, other] = [await reserved(use.ledger), await reserved(use.ledger)];
    await use.ledger.alerts.raise({ kind, subject: id, message: 'look' });
    expect(await ends(id)).toEqual(REFUSED);
    expect(await codeOf(use.ledger.settlements.cancel(other, CANCELLED))).toBe('none');
  });

  it('where its run remembers a signature, also when an operator has closed the alert', async () => {
    const id = await reserved(use.ledger);
    const details = { n: 1, signature: `sig-${id}` };
    await use.ledger.alerts.raise({ kind: 'attempt_lost', subject: id, message: 'look', details });
    await use.ledger.alerts.close('attempt_lost', id);
    expect(await ends(id)).toEqual(REFUSED);
  });

  it('but a settlement may be held or may wait', async () => {
    const id = await reserved(use.ledger);
    await use.ledger.alerts.raise({ kind: 'maybe_paid', subject: id, message: 'look' });
    expect((await use.ledger.settlements.move(id, 'held', REASON)).status).toBe('held');
    expect((await use.ledger.settlements.move(id, 'awaiting_funds', REASON)).status).toBe('awaiting_funds');
  });
});

describe('the order of an operator that a settlement is paid', () => {
  it('ends it with a reason of its own, and releases its reservation', async () => {
    const { settlements, alerts, attempts } = use.ledger;
    const id = await reserved(use.ledger);
    const before = await openReservations(use.ledger);
    await attempts.prepare(attempt(id), PLENTY);
    await alerts.raise({ kind: 'maybe_paid', subject: id, message: 'said by a test' });
    expect(await codeOf(settlements.endAsPaid(id, OPERATOR))).toBe('NotCancellable');
    await attempts.storeSignature(id, 1, `sig-${id}`);
    await attempts.settle(id, 1, DEAD);
    expect(await openReservations(use.ledger)).toBeGreaterThan(before);
    const message = 'ops ended the settlement as paid: the explorer shows it (said by a test)';
    const ended = { status: 'cancelled', reason: { code: 'paid_already', message } };
    expect(await settlements.endAsPaid(id, OPERATOR)).toMatchObject(ended);
    expect(await openReservations(use.ledger)).toBe(before);
    expect(await settlements.endAsPaid(id, { actor: 'other', reason: 'again' })).toMatchObject(ended);
    expect(await settlements.cancel(id, CANCELLED)).toMatchObject(ended);
    const { kind, subjectId } = await settlements.get(id);
    await requestSettlements(use.ledger.db, kind, [subjectId]);
    expect(await settlements.get(id)).toMatchObject(ended);
  });

  it('is refused where no evidence supports it, and where it has ended otherwise', async () => {
    const [id, cancelled] = [await reserved(use.ledger), await reserved(use.ledger)];
    expect(await codeOf(use.ledger.settlements.endAsPaid(id, OPERATOR))).toBe('NotCancellable');
    await use.ledger.settlements.cancel(cancelled, CANCELLED);
    await use.ledger.alerts.raise({ kind: 'maybe_paid', subject: cancelled, message: 'look' });
    expect(await codeOf(use.ledger.settlements.endAsPaid(cancelled, OPERATOR))).toBe('NotCancellable');
    expect(await codeOf(use.ledger.settlements.endAsPaid('no-such-id', OPERATOR))).toBe('NotFound');
  });
});
