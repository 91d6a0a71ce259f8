import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { NewPayment } from '../../../src/ledger/x402/payments.ts';
import { newPayment } from '../new-payment.ts';
import { attempt, newId, useLedger } from '../support.ts';

const use = useLedger();
const PATH = '/reports/1';

async function servedPayment(): Promise<NewPayment> {
  const payment = newPayment();
  const { id, feePayer } = payment;
  const signed = attempt(id, 1, { signers: [feePayer], signatures: [newId('sig')], isSignedHere: true });
  await use.ledger.payments.openSigned(payment, signed);
  await use.ledger.settlements.note(id, 'confirmed', null);
  await use.ledger.obligations.markServed(id, 200, null);
  return payment;
}

function setPayment(
  { id }: NewPayment,
  change: { servedAt?: ReturnType<typeof sql<Date>>; received?: bigint },
) {
  return use.ledger.db.updateTable('payment').set(change).where('id', '=', id).execute();
}

it('a pass is issued once for a served payment, and ends a set time after service', async () => {
  const { accessPasses } = use.ledger;
  const unserved = newPayment();
  await use.ledger.payments.open(unserved);
  expect(await accessPasses.issue(unserved.id, PATH, 300)).toBeNull();
  const payment = await servedPayment();
  const pass = await accessPasses.issue(payment.id, PATH, 300);
  expect(pass).toMatchObject({ payment: { id: payment.id }, path: PATH, isPaid: true, isRevoked: false });
  await setPayment(payment, { servedAt: sql<Date>`now() + interval '1 hour'` });
  expect(await accessPasses.issue(payment.id, PATH, 600)).toEqual(pass);
  const late = await servedPayment();
  await setPayment(late, { servedAt: sql<Date>`now() - interval '1 hour'` });
  expect(await accessPasses.issue(late.id, PATH, 300)).toBeNull();
});

it('a pass is found for its wallet, route and path while it is current, paid and not revoked', async () => {
  const { accessPasses, settlements } = use.ledger;
  const payment = await servedPayment();
  const { id, payer, route } = payment;
  await accessPasses.issue(id, PATH, 300);
  const find = async () => (await accessPasses.findValid(payer, route, PATH))?.payment.id;
  expect(await find()).toBe(id);
  expect(await accessPasses.findValid('another wallet', route, PATH)).toBeNull();
  expect(await accessPasses.findValid(payer, 'GET /other', PATH)).toBeNull();
  expect(await accessPasses.findValid(payer, route, '/reports/2')).toBeNull();
  await setPayment(payment, { received: 999n });
  expect(await find()).toBeUndefined();
  await setPayment(payment, { received: 1_000n });
  expect(await find()).toBe(id);
  await settlements.note(id, 'sending', null);
  expect([await find(), (await accessPasses.find(id))?.isPaid]).toEqual([undefined, false]);
  await settlements.note(id, 'confirmed', null);
  expect(await find()).toBe(id);
  expect(await accessPasses.revoke(id, { actor: 'ops', reason: 'stolen' })).toBe(true);
  expect([await find(), (await accessPasses.find(id))?.isRevoked]).toEqual([undefined, true]);
  const early = await servedPayment();
  await accessPasses.revoke(early.id, { actor: 'ops', reason: 'no pass' });
  expect(await accessPasses.issue(early.id, PATH, 300)).toMatchObject({ isRevoked: true });
});
