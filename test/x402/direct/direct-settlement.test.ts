import { base64 } from '@scure/base';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { paymentId } from '../../../src/domain/payment.ts';
import { PaymentRuns } from '../../../src/platform/temporal/settle-payment.ts';
import { messageHashOf } from '../../../src/solana/tx/message.ts';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';
import { hex } from '../../ledger/new-payment.ts';
import { resume } from '../../ledger/support.ts';
import { Customer, requirementsOf } from '../gateway/customer.ts';
import { Shop } from '../gateway/shop.ts';

const NOTE = { actor: 'ops', reason: 'we look at it' };
let shop: Shop;
let customer: Customer;

beforeAll(async () => {
  const routes = (upstream: string) => [{ path: '/item', price: '0.001', upstream }];
  // No workflow begins unless a caller waits for it.
  shop = await Shop.open(routes, {}, undefined, 'x402', { runDelay: '1 day' });
  await shop.opened('/item');
  customer = new Customer((await shop.buyer()).secretKey);
});
afterAll(() => shop?.close());

async function newPayment(url = shop.url) {
  const accepted = requirementsOf(await fetch(`${url}/item`));
  const transaction = customer.transaction(accepted, hex().slice(0, 16));
  const message = readSigned(base64.decode(transaction))?.message ?? new Uint8Array();
  const id = paymentId(NETWORKS.localnet.caip2, messageHashOf(message));
  const buy = () => fetch(`${url}/item`, { headers: customer.shows(accepted, transaction) });
  return { id, message: base64.encode(message), accepted, transaction, buy };
}

async function isFinal(id: string): Promise<void> {
  const status = async () => (await shop.ledger.settlements.get(id)).status;
  await vi.waitFor(async () => expect(await status()).toBe('finalized'), 20_000);
}

describe('a payment that the x402 worker settles directly', () => {
  it('is served and final without a task of its workflow, which ends when it begins', async () => {
    const { id, message, buy } = await newPayment();
    expect((await buy()).status).toBe(200);
    await isFinal(id);
    const run = shop.temporal.workflow.getHandle(id);
    const [attempt] = await shop.ledger.attempts.of(id);
    const { typedSearchAttributes, historyLength } = await run.describe();
    expect(historyLength).toBe(1);
    const attributes = typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]);
    expect(Object.fromEntries(attributes)).toMatchObject({
      sluiceStatus: 'sending',
      sluiceSignature: attempt?.signature,
    });
    // A caller who waits ends the start delay.
    const reached = await new PaymentRuns(shop.temporal).reach(id, 'finalized', 20_000);
    expect(reached).toMatchObject({ status: 'finalized', signature: attempt?.signature });
    expect(await run.result()).toMatchObject({ status: 'finalized', signature: attempt?.signature });
    const { events } = await run.fetchHistory();
    expect(events?.filter(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled)).toEqual([]);
    expect(attempt).toMatchObject({ n: 1, state: 'landed', message });
  });

  it('is not stored while payments are paused, and buys after the pause', async () => {
    const { id, buy } = await newPayment();
    await shop.ledger.pauses.begin({ ...NOTE, scope: 'kind/x402' });
    const refused = await buy();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await shop.ledger.payments.find(id)).toBeUndefined();
    await resume(shop.ledger);
    expect((await buy()).status).toBe(200);
  });

  it('is settled for the facilitator, too, but not while payments are paused', async () => {
    const { id, accepted, transaction } = await newPayment();
    const paymentPayload = { x402Version: 2, accepted, payload: { transaction } };
    const settle = async () => {
      const body = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: accepted });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${shop.url}/facilitator/settle`, { method: 'POST', headers, body });
      return (await response.json()) as { success: boolean; errorReason?: string };
    };
    await shop.ledger.pauses.begin({ ...NOTE, scope: `wallet/${shop.feePayer}` });
    expect(await settle()).toMatchObject({ success: false, errorReason: 'unexpected_settle_error' });
    expect(await shop.ledger.payments.find(id)).toBeUndefined();
    await resume(shop.ledger);
    const [{ success }, run] = [await settle(), shop.temporal.workflow.getHandle(id)];
    expect(success).toBe(true);
    expect((await run.describe()).historyLength).toBe(1);
  });

  it('waits for an operator if a failover has lost the commit, and is never composed again', async () => {
    const { id, buy } = await newPayment();
    expect((await buy()).status).toBe(200);
    await isFinal(id);
    const [lost] = await shop.ledger.attempts.of(id);
    const { db } = shop.ledger;
    await db.deleteFrom('attempt').where('settlementId', '=', id).execute();
    await db.deleteFrom('payment').where('id', '=', id).execute();
    await db.deleteFrom('settlement').where('id', '=', id).execute();
    const wait = new PaymentRuns(shop.temporal).reach(id, 'confirmed', 60_000).catch(() => undefined);
    await vi.waitFor(async () => {
      const { rows } = await shop.ledger.alerts.list({ open: true, limit: 10 });
      const details = { n: 1, signature: lost?.signature };
      expect(rows).toMatchObject([{ kind: 'attempt_lost', subject: id, details }]);
    }, 20_000);
    expect(await shop.ledger.pauses.listOpen()).toMatchObject([{ scope: 'all' }]);
    expect(await shop.ledger.attempts.of(id)).toEqual([]);
    // The buyer's repeat changes nothing: its transaction is on chain, and payments are paused.
    expect((await buy()).status).not.toBe(200);
    expect(await shop.ledger.attempts.of(id)).toEqual([]);
    await shop.temporal.workflow.getHandle(id).terminate();
    await wait;
    await resume(shop.ledger);
  });
});
