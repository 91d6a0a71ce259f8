import { base64 } from '@scure/base';
import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { paymentId } from '../../../src/domain/payment.ts';
import type { AttemptRow } from '../../../src/ledger/settlements/attempts.ts';
import type { X402WorkerDeps } from '../../../src/platform/roles/x402.ts';
import { PaymentRuns } from '../../../src/platform/temporal/settle-payment.ts';
import { messageHashOf } from '../../../src/solana/tx/message.ts';
import { readSigned } from '../../../src/solana/tx/signed-transaction.ts';
import { NETWORKS } from '../../../src/x402/terms.ts';
import { hex } from '../../ledger/new-payment.ts';
import { resume } from '../../ledger/support.ts';
import { Customer, requirementsOf } from '../gateway/customer.ts';
import { Shop } from '../gateway/shop.ts';

const NOTE = { actor: 'ops', reason: 'we look at it' };
/** The fees of ten payments. */
const FEE_LIMIT = { SLUICE_X402_FEE_PAYER_LAMPORTS_PER_HOUR: '100000' };
let shop: Shop;
let customer: Customer;
/** Called after the worker has stored a payment with its attempt. */
let whenOpened: ((id: string) => Promise<void>) | null = null;

function decorate({ ledger, ...deps }: X402WorkerDeps): X402WorkerDeps {
  const payments = new Proxy(ledger.payments, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function') return member;
      return async (...args: readonly [{ readonly id: string }]) => {
        const result: unknown = await member.apply(target, args);
        if (key === 'openSigned') await whenOpened?.(args[0].id);
        return result;
      };
    },
  });
  return { ...deps, ledger: { ...ledger, payments } };
}

beforeAll(async () => {
  const routes = (upstream: string) => [{ path: '/item', price: '0.001', upstream }];
  shop = await Shop.open(routes, FEE_LIMIT, undefined, 'x402', { decorate });
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
  it('is served and final without a workflow; a caller who waits starts one, which finds the end', async () => {
    const { id, message, buy } = await newPayment();
    expect((await buy()).status).toBe(200);
    await isFinal(id);
    const run = shop.temporal.workflow.getHandle(id);
    await expect(run.describe()).rejects.toThrow(WorkflowNotFoundError);
    const [attempt] = await shop.ledger.attempts.of(id);
    expect(attempt).toMatchObject({ n: 1, state: 'landed', message });
    const reached = await new PaymentRuns(shop.temporal).reach(id, 'finalized', 20_000);
    expect(reached).toMatchObject({ status: 'finalized', signature: attempt?.signature });
    expect(await run.result()).toMatchObject({ status: 'finalized', signature: attempt?.signature });
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
    expect((await settle()).success).toBe(true);
    await isFinal(id);
    await expect(shop.temporal.workflow.getHandle(id).describe()).rejects.toThrow(WorkflowNotFoundError);
  });

  it('uses no fee of the key that signed it if PostgreSQL refuses it', async () => {
    const buys = async (identifier?: string) => {
      const headers = await customer.pays(`${shop.url}/item`, {}, identifier);
      return (await fetch(`${shop.url}/item`, { headers })).status;
    };
    const identifier = hex();
    expect(await buys(identifier)).toBe(200);
    for (let n = 0; n < 6; n += 1) expect(await buys(identifier)).toBe(409);
    await shop.ledger.pauses.begin({ ...NOTE, scope: 'kind/x402' });
    for (let n = 0; n < 6; n += 1) expect(await buys()).toBe(503);
    await resume(shop.ledger);
    expect(await buys()).toBe(200);
  });

  it('waits for an operator if a failover has lost the commit, and makes no attempt', async () => {
    const { id, buy } = await newPayment();
    const { attempts, alerts, pauses, db } = shop.ledger;
    let lost: AttemptRow | undefined;
    whenOpened = async () => {
      whenOpened = null;
      [lost] = await attempts.of(id);
      await db.deleteFrom('attempt').where('settlementId', '=', id).execute();
      await db.deleteFrom('payment').where('id', '=', id).execute();
      await db.deleteFrom('settlement').where('id', '=', id).execute();
    };
    const bought = buy();
    await vi.waitFor(async () => {
      const { rows } = await alerts.list({ open: true, limit: 10 });
      const details = { n: 1, signature: lost?.signature };
      expect(rows).toMatchObject([{ kind: 'attempt_lost', subject: id, details }]);
    }, 20_000);
    expect(await pauses.listOpen()).toMatchObject([{ scope: 'all' }]);
    // The gateway has stored the payment again: its workflow waits, too.
    await vi.waitFor(() => shop.temporal.workflow.getHandle(id).terminate(), 20_000);
    expect((await bought).status).not.toBe(200);
    expect(await attempts.of(id)).toEqual([]);
    await resume(shop.ledger);
  });
});
