import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { base58 } from '@scure/base';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { paymentId } from '../../src/domain/payment.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { NETWORKS } from '../../src/x402/terms.ts';
import { type CrashingApi, startCrashingGateway, startCrashingX402 } from '../support/crash.ts';
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

/** Workflows settle the payments of a gateway or a worker without a socket. */
const NO_SOCKET = { socket: '' };

function stackSocket() {
  return { socket: running.stack.sales?.env['SLUICE_X402_SOCKET'] ?? '' };
}

async function opened(url: string): Promise<void> {
  await vi.waitFor(async () => expect((await fetch(url)).status).toBe(402), 60_000);
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
        const worker = await startCrashingX402(stack, at, payment.victim, NO_SOCKET);
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

/** The table of docs/decisions/0025-direct-settlement.md. */
const DIRECT_CRASHES = [
  'before payments.openSigned',
  'after payments.openSigned',
  'before workflow.start',
  'after workflow.start',
  'before chain.send',
  'after chain.send',
  'before settlements.note',
  'after settlements.note',
  'before attempts.settle',
  'after attempts.settle',
] as const;

describe('a payment that the x402 worker settles directly survives the death of that worker', () => {
  const payments = new Map<string, UnservedPayment>();
  const answers = new Map<string, unknown>();
  let gateway: CrashingApi;

  // The workers that die have a socket and a gateway of their own. The stack's worker continues their payments.
  beforeAll(async () => {
    const { stack } = running;
    const own = { socket: join(mkdtempSync(join(tmpdir(), 'sluice-')), 'x402.sock') };
    gateway = await startCrashingGateway(stack, '', (await newPayment()).victim, own);
    await opened(`${gateway.url}/item`);
    for (const at of DIRECT_CRASHES) {
      const payment = await newPayment();
      const worker = await startCrashingX402(stack, at, payment.victim, own);
      const response = await fetch(gateway.url + payment.target, { headers: payment.headers });
      answers.set(at, [response.status, await response.text()]);
      await worker.crashed();
      payments.set(at, payment);
    }
  }, 300_000);
  afterAll(() => gateway?.stop());

  it.concurrent.each(DIRECT_CRASHES)(
    '%s, and its first request is answered',
    async (at) => {
      const payment = payments.get(at);
      if (payment === undefined) throw new Error(`no worker died ${at}`);
      expect(answers.get(at)).toEqual([200, `item ${payment.target}`]);
      await expectBoughtOnce(payment);
      await vi.waitFor(async () => {
        const { status } = await ledger.settlements.get(payment.id);
        expect(status).toBe('finalized');
      }, 90_000);
      expect(asked.get(payment.target)).toHaveLength(1);
    },
    180_000,
  );

  it('and of the gateway at the same time', async () => {
    const { stack } = running;
    const payment = await newPayment();
    const own = { socket: join(mkdtempSync(join(tmpdir(), 'sluice-')), 'x402.sock') };
    const other = await startCrashingGateway(stack, 'before payments.open', payment.victim, own);
    const worker = await startCrashingX402(stack, 'after payments.openSigned', payment.victim, own);
    await opened(`${other.url}/item`);
    expect(
      await fetch(other.url + payment.target, { headers: payment.headers }).catch(() => null),
    ).toBeNull();
    await Promise.all([worker.crashed(), other.crashed()]);
    expect(await ledger.attempts.of(payment.id)).toMatchObject([{ n: 1, state: 'signed' }]);
    await untilServed(payment);
    await expectBoughtOnce(payment);
  }, 180_000);
});

describe('a payment survives the death of the gateway', () => {
  const withoutSocket = [
    'before payments.open',
    'after payments.open',
    'before workflow.executeUpdateWithStart',
    'after workflow.executeUpdateWithStart',
  ];
  const withSocket = [
    'before obligations.take',
    'after obligations.take',
    'before obligations.markServed',
    'after obligations.markServed',
  ];
  it.concurrent.each([
    ...withoutSocket.map((at) => [at, NO_SOCKET] as const),
    ...withSocket.map((at) => [at, null] as const),
  ])(
    '%s',
    async (at, socket) => {
      const payment = await newPayment();
      const gateway = await startCrashingGateway(running.stack, at, payment.victim, socket ?? stackSocket());
      await opened(gateway.url + payment.target);
      const cut = await fetch(gateway.url + payment.target, { headers: payment.headers }).catch(() => null);
      expect(cut).toBeNull();
      await gateway.crashed();
      await untilServed(payment);
      await expectBoughtOnce(payment);
    },
    180_000,
  );
});
