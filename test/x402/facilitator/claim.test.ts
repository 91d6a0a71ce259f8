import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { EVENTS_BY_KIND } from '../../../src/ledger/ledger.ts';
import { enterStatus } from '../../../src/ledger/settlements/settlement-row.ts';
import { newPayment } from '../../ledger/new-payment.ts';
import { useLedger } from '../../ledger/support.ts';

const use = useLedger();
const MS = 60_000;

/** The id of a confirmed payment of the facilitator. */
async function owed(claimKey: string | null = null): Promise<string> {
  const lease = { holder: 'opener', ms: 0 };
  const { id, ...rest } = newPayment({ seller: 'facilitator', request: null, lease, claim: claimKey });
  await use.ledger.payments.open({ ...rest, id });
  for (const status of ['preparing', 'sending', 'confirmed'] as const)
    await use.ledger.db.transaction().execute((trx) => enterStatus(trx, EVENTS_BY_KIND, id, status));
  return id;
}

const claim = (id: string, holder: string, key: string | null = null): Promise<boolean> =>
  use.ledger.obligations.claim(id, key, { holder, ms: MS });

async function endLease(id: string): Promise<void> {
  const leaseUntil = sql<Date>`now() - interval '1 second'`;
  await use.ledger.db.updateTable('payment').set({ leaseUntil }).where('id', '=', id).execute();
}

describe('the claim of a successful payment', () => {
  it('goes to one of many concurrent callers, and the others wait', async () => {
    const id = await owed();
    const claims = await Promise.all(Array.from({ length: 10 }, (_, n) => claim(id, `caller ${n}`)));
    expect(claims.filter(Boolean)).toHaveLength(1);
  });

  it('is taken once its result is delivered', async () => {
    const id = await owed();
    await claim(id, 'a');
    await use.ledger.obligations.markServed(id, 200, null);
    for (const holder of ['a', 'b']) expect(await claim(id, holder)).toBe(false);
  });

  it('is free again when it is released, or its lease has ended', async () => {
    const id = await owed();
    await claim(id, 'a');
    await use.ledger.obligations.release(id, 'b');
    expect(await claim(id, 'b')).toBe(false);
    await use.ledger.obligations.release(id, 'a');
    expect(await claim(id, 'b')).toBe(true);
    await endLease(id);
    expect(await claim(id, 'c')).toBe(true);
  });

  it('with a key belongs to that key before and after the delivery', async () => {
    const id = await owed();
    expect(await claim(id, 'a', 'k1')).toBe(true);
    expect(await claim(id, 'b', 'k1')).toBe(true);
    expect(await claim(id, 'c', 'k2')).toBe(false);
    await use.ledger.obligations.markServed(id, 200, null);
    expect(await claim(id, 'd', 'k1')).toBe(true);
    expect(await claim(id, 'e', 'k2')).toBe(false);
    expect(await claim(id, 'f')).toBe(false);
  });

  it('by another key, after the end of the lease, invalidates the first claim', async () => {
    const id = await owed();
    await claim(id, 'a', 'k1');
    await endLease(id);
    expect(await claim(id, 'b', 'k2')).toBe(true);
    await use.ledger.obligations.markServed(id, 200, null);
    expect(await claim(id, 'a', 'k1')).toBe(false);
    expect(await claim(id, 'b', 'k2')).toBe(true);
  });

  it.each([
    ['keyless', null, '11 minutes', 'refundable'],
    ['keyless', null, '9 minutes', 'owed'],
    ['of a key', 'k1', '11 minutes', 'owed'],
    ['of a key', 'k1', '25 hours', 'refundable'],
  ])(
    '%s ends a set time after the payment, and then its payment ends: %s, %s, %s',
    async (_whose, key, age, state) => {
      const id = await owed(key);
      await endLease(id);
      const paidAt = sql<Date>`now() - ${age}::interval`;
      await use.ledger.db.updateTable('payment').set({ paidAt }).where('id', '=', id).execute();
      await use.ledger.obligations.endUnfetched();
      const stored = await use.ledger.payments.get(id);
      expect(stored).toMatchObject({
        state,
        ...(state === 'owed' ? {} : { reason: expect.stringMatching(/fetched/) }),
      });
      expect(await claim(id, 'a', 'k2')).toBe(age === '9 minutes');
      expect(await claim(id, 'b', 'k1')).toBe(state === 'owed' && key === 'k1');
      expect(await claim(id, 'c')).toBe(false);
    },
  );

  it('does not end while the success is being delivered', async () => {
    const id = await owed();
    await claim(id, 'a');
    const paidAt = sql<Date>`now() - interval '11 minutes'`;
    await use.ledger.db.updateTable('payment').set({ paidAt }).where('id', '=', id).execute();
    await use.ledger.obligations.endUnfetched();
    await use.ledger.obligations.markServed(id, 200, null);
    expect((await use.ledger.payments.get(id)).state).toBe('served');
  });

  it('needs a paid payment of the facilitator', async () => {
    const unpaid = newPayment({ seller: 'facilitator', request: null });
    await use.ledger.payments.open(unpaid);
    for (const id of [unpaid.id, 'x402/none']) expect(await claim(id, 'a', 'k1')).toBe(false);
    await use.ledger.obligations.markServed(unpaid.id, 200, null);
    expect(await claim(unpaid.id, 'a', 'k1')).toBe(false);
  });
});
