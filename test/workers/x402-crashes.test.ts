import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { base58 } from '@scure/base';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { paymentId } from '../../src/domain/payment.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { NETWORKS } from '../../src/x402/terms.ts';
import { startCrashingGateway, startCrashingX402 } from '../support/crash.ts';
import { bodyOf, type HttpServer, startHttp } from '../support/http.ts';
import { type TestStack, testStack } from '../support/stack.ts';
import { Customer, requirementsOf } from '../x402/gateway/customer.ts';

/** A blockhash is valid for 75 s of such slots: a payment does not expire while four workers die. */
const SLOT_MS = 500;
let upstream: HttpServer;
let running: TestStack;
let ledger: Ledger;
/** The requests at the upstream, by target, with their idempotency key. */
const asked = new Map<string, string[]>();
let serial = 0;

beforeAll(async () => {
  upstream = await startHttp(async (request, response) => {
    await bodyOf(request);
    const { url = '', headers } = request;
    asked.set(url, [...(asked.get(url) ?? []), String(headers['idempotency-key'])]);
    response.writeHead(200, { 'content-type': 'text/plain' }).end(`item ${url}`);
  });
  const routesOf = ({ seller }: { seller: string }) => ({
    payTo: seller,
    routes: [{ path: '/item', price: '0.001', upstream: upstream.url }],
  });
  running = await testStack(SLOT_MS, {}, 'shared', { routesOf });
  ledger = await openLedger(running.stack.databaseUrl);
  const { gatewayUrl = '' } = running.stack.sales ?? {};
  await vi.waitFor(async () => expect((await fetch(`${gatewayUrl}/item`)).status).toBe(402), 60_000);
});
afterAll(async () => {
  await ledger?.close();
  await running?.close();
  await upstream?.close();
});

/** A payment that no request has carried yet, for a request of its own. */
async function newPayment() {
  serial += 1;
  const target = `/item?n=${serial}`;
  const { sales } = running.stack;
  if (sales === null) throw new Error('the stack sells');
  const customer = new Customer(Uint8Array.from(JSON.parse(readFileSync(sales.buyer.path, 'utf8'))));
  const accepted = requirementsOf(await fetch(sales.gatewayUrl + target));
  const memo = randomBytes(8).toString('hex');
  const transaction = customer.transaction(accepted, memo);
  const message = readSigned(Buffer.from(transaction, 'base64'))?.message ?? new Uint8Array();
  const id = paymentId(NETWORKS.localnet.caip2, messageHashOf(message));
  const headers = customer.shows(accepted, transaction);
  // All payments are of one buyer: the memo is unique to the bytes of this payment.
  const victim = { id, destination: base58.encode(Buffer.from(memo)) };
  return { id, target, headers, victim, gatewayUrl: sales.gatewayUrl };
}

type UnservedPayment = Awaited<ReturnType<typeof newPayment>>;

/** A conforming buyer sends the same payment until he gets an answer; the lease of a dead process is ended, as time would end it. */
async function untilServed({ id, target, headers, gatewayUrl }: UnservedPayment): Promise<void> {
  await vi.waitFor(async () => {
    await ledger.db
      .updateTable('payment')
      .set({ leaseUntil: sql<Date>`now() - interval '1 second'` })
      .where('id', '=', id)
      .where('leaseHolder', 'is not', null)
      .execute();
    const response = await fetch(gatewayUrl + target, { headers });
    expect([response.status, await response.text()]).toEqual([200, `item ${target}`]);
  }, 90_000);
}

/** One transfer on the chain, one stored attempt, and upstream requests under one key. */
async function expectBoughtOnce({ id, target }: UnservedPayment): Promise<void> {
  const attempts = await ledger.attempts.of(id);
  expect(attempts.map(({ n }) => n)).toEqual([1]);
  const { value } = await rpc<{ value: readonly ({ err: unknown } | null)[] }>(
    running.stack.rpcUrls[0] ?? '',
    'getSignatureStatuses',
    [[attempts[0]?.signature], { searchTransactionHistory: true }],
  );
  expect(value).toMatchObject([{ err: null }]);
  expect(new Set(asked.get(target))).toEqual(new Set([id]));
  expect(await ledger.payments.find(id)).toMatchObject({ state: 'served' });
}

/** Before a payment has landed its bytes can still expire, so these tests end before the others begin. */
const WORKER_CRASHES = {
  'before its payment has landed': [
    'before attempts.prepare',
    'after attempts.prepare',
    'before chain.send',
    'after chain.send',
  ],
  'when its payment has landed': [
    'before settlements.note',
    'after settlements.note',
    'before attempts.settle',
    'after attempts.settle',
  ],
} as const;

describe.each(Object.entries(WORKER_CRASHES))(
  'a payment survives the death of the x402 worker %s',
  (_, points) => {
    const payments = new Map<string, UnservedPayment>();

    // One worker after the other dies at a payment of its own, and also continues those of the workers before it.
    beforeAll(async () => {
      const { stack } = running;
      await stack.x402?.kill('SIGKILL');
      for (const at of points) {
        const payment = await newPayment();
        const worker = await startCrashingX402(stack, at, payment.victim);
        fetch(payment.gatewayUrl + payment.target, { headers: payment.headers }).catch(() => null);
        await worker.crashed();
        payments.set(at, payment);
      }
      await stack.x402?.start();
    });

    it.concurrent.each(points)(
      '%s',
      async (at) => {
        const payment = payments.get(at);
        if (payment === undefined) throw new Error(`no worker died ${at}`);
        await untilServed(payment);
        await expectBoughtOnce(payment);
      },
      180_000,
    );
  },
);

describe('a payment survives the death of the gateway', () => {
  it.concurrent.each([
    'before payments.open',
    'after payments.open',
    'before workflow.executeUpdateWithStart',
    'after workflow.executeUpdateWithStart',
    'before obligations.take',
    'after obligations.take',
    'before obligations.markServed',
    'after obligations.markServed',
  ])(
    '%s',
    async (at) => {
      const payment = await newPayment();
      const gateway = await startCrashingGateway(running.stack, at, payment.victim);
      await vi.waitFor(
        async () => expect((await fetch(gateway.url + payment.target)).status).toBe(402),
        60_000,
      );
      const cut = await fetch(gateway.url + payment.target, { headers: payment.headers }).catch(() => null);
      expect(cut).toBeNull();
      await gateway.crashed();
      await untilServed(payment);
      await expectBoughtOnce(payment);
    },
    180_000,
  );
});
