import { beforeEach, describe, expect, it } from 'vitest';
import type { AttemptOutcome } from '../../src/ledger/settlements/attempts.ts';
import { attempt, DEAD, newId, PLENTY, REASON, resume, useLedger } from './support.ts';
import { terms } from './terms.ts';

const use = useLedger();
const ALARM = { code: 'dead_attempt_landed', message: 'the chain shows both' };
const LANDED: AttemptOutcome = { state: 'landed', slot: 9n, proof: {}, amountReceived: 1n };
const FAILED: AttemptOutcome = { state: 'failed', slot: 9n, proof: {}, error: 'x', reason: REASON };
let id: string;

/** Attempt 1 is dead and attempt 2 is prepared or `signed` when a node returns attempt 1 as landed. */
async function shownLanded(signed: boolean): Promise<void> {
  const { attempts, withdrawals, pauses } = use.ledger;
  await withdrawals.reserve(terms(id));
  await attempts.prepare(attempt(id, 1), PLENTY);
  await attempts.storeSignature(id, 1, `first-${id}`);
  await attempts.settle(id, 1, DEAD);
  await attempts.prepare(attempt(id, 2), PLENTY);
  if (signed) await attempts.storeSignature(id, 2, `second-${id}`);
  await pauses.pauseWithAlert({ kind: 'dead_attempt_landed', subject: id, message: ALARM.message }, id);
  await resume(use.ledger);
}

async function expectUnchanged(): Promise<void> {
  expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'held', reason: ALARM });
}

beforeEach(() => {
  id = newId();
});

describe('a withdrawal whose dead attempt landed', () => {
  it('accepts no signature for the next attempt, and does not give that attempt to the signer', async () => {
    await shownLanded(false);
    const { attempts } = use.ledger;
    const row = await attempts.storeSignature(id, 2, `second-${id}`);
    expect(row).toMatchObject({ n: 2, state: 'prepared', signature: null });
    expect(await attempts.prepare(attempt(id, 2), PLENTY)).toEqual({ kind: 'stopped', reason: ALARM });
    await expectUnchanged();
  });

  it('has its unsigned attempt settled as refused by the signer', async () => {
    await shownLanded(false);
    const refused = await use.ledger.attempts.listUnsigned(200);
    expect(refused.map(({ settlementId, n }) => `${settlementId} ${n}`)).toContain(`${id} 2`);
    await use.ledger.attempts.settle(id, 2, { ...DEAD, signature: null });
    await expectUnchanged();
    const note = { actor: 'ops', reason: 'the first has paid' };
    expect(await use.ledger.settlements.endAsPaid(id, note)).toMatchObject({ status: 'cancelled' });
  });

  it('keeps its reason, whatever status its signed attempt has', async () => {
    await shownLanded(true);
    const { settlements, pauses } = use.ledger;
    for (const to of ['sending', 'confirmed', 'held'] as const)
      expect(await settlements.note(id, to, to === 'held' ? REASON : null)).toBe(false);
    await expectUnchanged();
    for (const to of ['held', 'awaiting_funds', 'rejected'] as const)
      expect(await settlements.move(id, to, REASON)).toMatchObject({ status: 'held', reason: ALARM });
    await pauses.pauseWithAlert({ kind: 'attempt_lost', subject: id, message: 'later' }, id);
    await resume(use.ledger);
    await expectUnchanged();
  });

  it.each([LANDED, FAILED, DEAD])('keeps its reason when the signed attempt ends: %o', async (outcome) => {
    await shownLanded(true);
    expect(await use.ledger.attempts.settle(id, 2, outcome)).toMatchObject({ state: outcome.state });
    await expectUnchanged();
    const signatures = (await use.ledger.attempts.of(id)).map(({ signature }) => signature);
    expect(signatures).toEqual([`first-${id}`, `second-${id}`]);
  });

  it.each([
    [false, undefined, 'preparing'],
    [true, undefined, 'sending'],
    [true, DEAD, 'preparing'],
    [true, LANDED, 'finalized'],
    [true, FAILED, 'preparing'],
  ] as const)(
    'continues from its attempts once an operator closes the alert as false, %s %o',
    async (signed, outcome, status) => {
      await shownLanded(signed);
      const { settlements, attempts, alerts } = use.ledger;
      if (outcome !== undefined) await attempts.settle(id, 2, outcome);
      await expectUnchanged();
      const note = { actor: 'ops', reason: 'no second node shows it' };
      expect(await settlements.continueUnpaid(id, note)).toBe(true);
      expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status });
      expect(await settlements.continueUnpaid(id, note)).toBe(false);
      const { rows } = await alerts.list({ open: false, limit: 1 });
      expect(rows).toMatchObject([{ subject: id, details: { closedBy: 'ops', closedReason: note.reason } }]);
      if (status !== 'preparing') return;
      const next = outcome === undefined ? 2 : 3;
      expect((await attempts.prepare(attempt(id, next), PLENTY)).kind).toBe('prepared');
    },
  );

  it('is listed with its alert, and other withdrawals are not', async () => {
    await shownLanded(true);
    const other = newId();
    await use.ledger.withdrawals.reserve(terms(other));
    await use.ledger.settlements.move(other, 'held', REASON);
    expect(await use.ledger.settlements.paidByDead([id, other])).toEqual(new Map([[id, ALARM]]));
    expect(await use.ledger.settlements.paidByDead([])).toEqual(new Map());
  });
});
