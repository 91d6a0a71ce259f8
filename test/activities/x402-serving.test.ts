import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createX402Activities } from '../../src/activities/x402.ts';
import type { SettlementStatus } from '../../src/domain/settlement.ts';
import { EVENTS_BY_KIND } from '../../src/ledger/ledger.ts';
import { enterStatus } from '../../src/ledger/settlements/settlement-row.ts';
import type { BoughtRequest } from '../../src/ledger/x402/payments.ts';
import type { UpstreamOptions } from '../../src/x402/upstream.ts';
import { createUpstreamCall } from '../../src/x402/upstream-call.ts';
import { newPayment } from '../ledger/new-payment.ts';
import { useLedger } from '../ledger/support.ts';
import { runActivity } from '../support/activity.ts';
import { type HttpServer, startHttp } from '../support/http.ts';

const TOO_LARGE = 16 * 1024 * 1024 + 1;
const use = useLedger();
let upstream: HttpServer;
let answer: { readonly status: number; readonly body: string | Buffer };
let bounds: UpstreamOptions[];
let variables: Readonly<Record<string, string>>;
/** Milliseconds of the lease, by the first call of the upstream. */
let leaseMs: number;

beforeAll(async () => {
  upstream = await startHttp(async (_request, response) => {
    response.writeHead(answer.status).end(answer.body);
  });
});
afterAll(() => upstream?.close());
beforeEach(() => {
  answer = { status: 200, body: 'the answer' };
  bounds = [];
  variables = {};
});

/** An owed payment that no process serves. */
async function owed(change: Partial<BoughtRequest> = {}): Promise<string> {
  const { request, ...payment } = newPayment();
  if (request === null) throw new Error('the payment has no request');
  const { id } = payment;
  await use.ledger.payments.open({ ...payment, request: { ...request, url: upstream.url, ...change } });
  const statuses: readonly SettlementStatus[] = ['preparing', 'sending', 'confirmed'];
  for (const status of statuses)
    await use.ledger.db.transaction().execute((trx) => enterStatus(trx, EVENTS_BY_KIND, id, status));
  await use.ledger.obligations.release(id, 'me');
  return id;
}

/** Runs the activity of the worker once. */
async function serve(id: string): Promise<void> {
  const unused = undefined as never;
  const activities = createX402Activities({
    ledger: use.ledger,
    chain: unused,
    watcher: unused,
    kinds: {},
    upstream: async (request, options) => {
      bounds.push(options);
      const { leaseUntil, askedAt } = await use.ledger.payments.get(id);
      leaseMs = Number(leaseUntil) - Number(askedAt);
      return createUpstreamCall({ variables, secret: null, observe: () => undefined })(request, options);
    },
  });
  await runActivity(() => activities.serveOwed({ id }));
}

describe('the worker', () => {
  it('gives the upstream the time of the route, and has the lease for longer', async () => {
    const id = await owed({ method: 'POST', isRepeatable: false, timeoutMs: 600_000 });
    await serve(id);
    expect(bounds).toMatchObject([{ timeoutMs: 600_000 }]);
    expect(leaseMs).toBeGreaterThan(600_000);
    expect(await use.ledger.payments.get(id)).toMatchObject({ state: 'served' });
  });

  it('leaves a payment owed where the answer is too large to store and the request may be repeated', async () => {
    const id = await owed();
    answer = { status: 200, body: Buffer.alloc(TOO_LARGE) };
    const failure = await serve(id).catch((error: unknown) => error);
    expect(failure).toMatchObject({ type: 'answer_too_large', nextRetryDelay: 3_600_000 });
    expect(await use.ledger.payments.get(id)).toMatchObject({ state: 'owed', leaseHolder: null });
    await use.ledger.obligations.markServed(id, 200, null);
    await serve(id);
    expect(bounds).toHaveLength(1);
  });

  it('makes a payment refundable where the answer is too large to store and nothing else is possible', async () => {
    answer = { status: 200, body: Buffer.alloc(TOO_LARGE) };
    const order = await owed({ method: 'POST', isRepeatable: false });
    const old = await owed();
    const paidAt = sql<Date>`now() - interval '25 hours'`;
    await use.ledger.db.updateTable('payment').set({ paidAt }).where('id', '=', old).execute();
    for (const id of [order, old]) {
      await serve(id);
      const { state, reason } = await use.ledger.payments.get(id);
      expect([state, reason]).toEqual(['refundable', expect.stringContaining('too large to be stored')]);
    }
  });

  it('leaves a payment owed while the variable of a header is not set', async () => {
    const id = await owed({ routeHeaders: { authorization: { env: 'UPSTREAM_TOKEN' } } });
    const failure = await serve(id).catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: expect.stringContaining('header authorization') });
    expect(await use.ledger.payments.get(id)).toMatchObject({ state: 'owed', leaseHolder: null });
    variables = { UPSTREAM_TOKEN: 'a token' };
    await serve(id);
    expect(await use.ledger.payments.get(id)).toMatchObject({ state: 'served' });
  });
});
