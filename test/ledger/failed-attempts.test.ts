import { describe, expect, it } from 'vitest';
import type { AttemptOutcome } from '../../src/ledger/settlements/attempts.ts';
import {
  attempt,
  codeOf,
  DEAD,
  newId,
  openReservations,
  PLENTY,
  preparation,
  REASON,
  signed,
  solNeed,
  useLedger,
} from './support.ts';
import { terms } from './terms.ts';

const use = useLedger();
const FAILED: AttemptOutcome = { state: 'failed', slot: 510n, error: '"X"', reason: REASON, proof: {} };
const PASSING: AttemptOutcome = { ...FAILED, mayPass: true };
const NOTE = { actor: 'ops', reason: 'the issuer has thawed it' };

/** Attempts up to `n` have failed for a temporary cause; the first is signed already. */
async function failing(id: string, from: number, n: number): Promise<void> {
  const { attempts } = use.ledger;
  for (let at = from; at <= n; at += 1) {
    if (at > 1) expect(await preparation(use.ledger, id, at)).toBe('prepared');
    if (at > 1) await attempts.storeSignature(id, at, `sig-${id}-${at}`);
    await attempts.settle(id, at, PASSING);
  }
}

async function alertOf(id: string) {
  const [alert] = await use.ledger.alerts.listOpenAbout(id);
  return alert;
}

describe('an attempt that failed for a temporary cause', () => {
  it('permits the next attempt, and the settlement has the reason', async () => {
    const id = await signed(use.ledger);
    await use.ledger.settlements.note(id, 'confirmed', null);
    const row = await use.ledger.attempts.settle(id, 1, PASSING);
    expect(row).toMatchObject({ state: 'failed', slot: 510n, endedAt: expect.any(Date) });
    const { status, reason } = await use.ledger.withdrawals.get(id);
    expect([status, reason?.code]).toEqual(['preparing', 'attempt_failed']);
    expect(reason?.message).toContain(REASON.message);
    expect(await preparation(use.ledger, id, 2)).toBe('prepared');
    expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'preparing', reason: null });
  });

  it('rewinds nothing when its verdict is repeated or another verdict follows', async () => {
    const id = await signed(use.ledger);
    const { attempts } = use.ledger;
    await failing(id, 1, 1);
    await preparation(use.ledger, id, 2);
    await attempts.storeSignature(id, 2, `second-${id}`);
    await attempts.settle(id, 1, PASSING);
    expect(await codeOf(attempts.settle(id, 1, { state: 'landed', slot: 511n, proof: {} }))).toBe(
      'IllegalTransition',
    );
    expect((await use.ledger.withdrawals.get(id)).status).toBe('sending');
    expect(await preparation(use.ledger, id, 1)).toBe('prepared');
    expect(await codeOf(attempts.prepare(attempt(id, 3), PLENTY))).toBe('IllegalTransition');
  });

  it('keeps its reservation for the next attempt, and its fee counts until balances include it', async () => {
    const wallet = 'pays-twice';
    const [id, other] = [newId(), newId()];
    for (const one of [id, other]) await use.ledger.withdrawals.reserve(terms(one));
    const at = (amount: bigint, slot: bigint) => solNeed(amount, 100n, { wallet, slot });
    const prepare = async (of: string, n: number, amount: bigint, slot: bigint) => {
      const input = attempt(of, n, { signers: [wallet] });
      const result = await use.ledger.attempts.prepare(input, at(amount, slot));
      return result.kind === 'short' ? result.missing : result.kind;
    };
    expect(await prepare(id, 1, 60n, 500n)).toBe('prepared');
    await use.ledger.attempts.storeSignature(id, 1, `sig-${id}`);
    await use.ledger.attempts.settle(id, 1, { ...PASSING, feeLamports: 5n });
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(60n);
    expect(await prepare(other, 1, 36n, 509n)).toBe(1n);
    expect(await prepare(id, 2, 96n, 509n)).toBe(1n);
    expect(await prepare(other, 1, 40n, 510n)).toBe('prepared');
    expect(await prepare(id, 2, 60n, 510n)).toBe('prepared');
    expect(await openReservations(use.ledger, wallet, 'SOL')).toBe(100n);
  });

  it('permits a cancel, a rejection or a wait for funds', async () => {
    const { settlements } = use.ledger;
    const id = await signed(use.ledger);
    expect(await codeOf(settlements.cancel(id, REASON))).toBe('NotCancellable');
    await failing(id, 1, 1);
    const other = await signed(use.ledger);
    await failing(other, 1, 1);
    expect((await settlements.cancel(other, REASON)).status).toBe('cancelled');
    for (const to of ['awaiting_funds', 'rejected'] as const)
      expect(await settlements.move(id, to, REASON)).toMatchObject({ status: to });
    expect((await use.ledger.withdrawals.get(id)).status).toBe('rejected');
  });

  it('does not release a withdrawal that an unknown spend may have paid', async () => {
    const id = await signed(use.ledger);
    const { destination } = await use.ledger.withdrawals.get(id);
    const suspects = async () =>
      (await use.ledger.withdrawals.findUnpaid([destination])).some((one) => one.id === id);
    expect(await suspects()).toBe(false);
    await failing(id, 1, 1);
    expect(await suspects()).toBe(true);
  });

  it('ends the settlement where the cause is permanent', async () => {
    const id = await signed(use.ledger);
    await use.ledger.attempts.settle(id, 1, FAILED);
    expect(await use.ledger.withdrawals.get(id)).toMatchObject({ status: 'failed', reason: REASON });
    expect(await codeOf(use.ledger.attempts.prepare(attempt(id, 2), PLENTY))).toBe('IllegalTransition');
  });

  it('ends the settlement where its buyer composed the message', async () => {
    const id = newId();
    await use.ledger.withdrawals.reserve(terms(id));
    await use.ledger.attempts.prepare(attempt(id, 1, { adoptedFrom: 'a block' }), PLENTY);
    await use.ledger.attempts.storeSignature(id, 1, `sig-${id}`);
    await use.ledger.attempts.settle(id, 1, PASSING);
    expect((await use.ledger.withdrawals.get(id)).status).toBe('failed');
    expect(await codeOf(use.ledger.attempts.prepare(attempt(id, 2), PLENTY))).toBe('IllegalTransition');
  });
});

describe('the fifth failure', () => {
  it('holds the settlement until an operator closes the alert with a reason, and five more may follow', async () => {
    const { attempts, withdrawals, alerts } = use.ledger;
    const id = await signed(use.ledger);
    await failing(id, 1, 4);
    expect([(await withdrawals.get(id)).status, await alertOf(id)]).toEqual(['preparing', undefined]);
    await failing(id, 5, 5);
    const held = { status: 'held', reason: { code: 'payment_keeps_failing' } };
    expect(await withdrawals.get(id)).toMatchObject(held);
    const stopped = { kind: 'stopped', reason: { code: 'payment_keeps_failing' } };
    expect(await attempts.prepare(attempt(id, 6), PLENTY)).toMatchObject(stopped);
    const alert = await alertOf(id);
    expect(alert).toMatchObject({ kind: 'payment_keeps_failing', details: { failures: 5 } });
    await expect(alerts.acknowledge([alert?.position ?? 0n], NOTE)).rejects.toMatchObject({
      code: 'InvalidRequest',
    });
    expect(await alerts.close('payment_keeps_failing', id, NOTE)).toBe(true);
    await failing(id, 6, 9);
    expect((await withdrawals.get(id)).status).toBe('preparing');
    await failing(id, 10, 10);
    expect(await withdrawals.get(id)).toMatchObject(held);
    expect((await alertOf(id))?.details).toEqual({ failures: 10 });
  });

  it('counts no dead attempts, and the payment can then be cancelled, which closes the alert', async () => {
    const { attempts, settlements, withdrawals } = use.ledger;
    const id = await signed(use.ledger);
    await attempts.settle(id, 1, DEAD);
    await failing(id, 2, 5);
    expect((await withdrawals.get(id)).status).toBe('preparing');
    await failing(id, 6, 6);
    expect((await withdrawals.get(id)).status).toBe('held');
    expect(await codeOf(settlements.endAsPaid(id, NOTE))).toBe('NotCancellable');
    expect(await settlements.cancel(id, REASON)).toMatchObject({ status: 'cancelled' });
    expect(await alertOf(id)).toBeUndefined();
  });
});
