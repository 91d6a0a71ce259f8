import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CrashingApi, startCrashingGateway, startCrashingX402 } from '../support/crash.ts';
import { type CrashPayment, CrashSales, type SaleName, sold } from './crash-sales.ts';

let sales: CrashSales;

/** Workflows settle the payments of a gateway or a worker without a socket. */
const NO_SOCKET = { socket: '' };

function stackSocket() {
  return { socket: sales.running.stack.sales?.env['SLUICE_X402_SOCKET'] ?? '' };
}

/** A socket at which only the worker that is to die listens. The stack's worker continues its payments. */
function ownSocket() {
  return { socket: join(mkdtempSync(join(tmpdir(), 'sluice-')), 'x402.sock') };
}

type WorkerCrash = readonly [sale: SaleName, at: string, gatewayAt?: string];

/** Where the gateway of a payment dies, too. */
const GATEWAY_AFTER_CONFIRMED = 'after workflow.executeUpdateWithStart';

/** Before a payment has landed its bytes can still expire, so these tests end before the others begin. */
const WORKER_CRASHES: Readonly<Record<string, readonly WorkerCrash[]>> = {
  'before its payment has landed': [
    ['item', 'before attempts.prepare'],
    ['item', 'after attempts.prepare'],
    ['item', 'before chain.send'],
    ['item', 'after chain.send'],
  ],
  'before a payment of another form has landed': [
    ['example', 'after attempts.prepare'],
    ['example', 'after chain.send'],
    ['first', 'before chain.send'],
    ['firstOrder', 'after chain.send'],
    ['facilitatorOnce', 'after attempts.prepare'],
  ],
  'when its payment has landed': [
    ['item', 'before settlements.note'],
    ['item', 'after settlements.note'],
    ['item', 'before attempts.settle'],
    ['item', 'after attempts.settle'],
  ],
  'when a payment of another form has landed': [
    ['submitted', 'before attempts.prepare'],
    ['submitted', 'after attempts.prepare'],
    ['facilitator', 'after settlements.note'],
    ['order', 'before attempts.settle', GATEWAY_AFTER_CONFIRMED],
    ['example', 'before attempts.settle', GATEWAY_AFTER_CONFIRMED],
    ['first', 'before attempts.settle', GATEWAY_AFTER_CONFIRMED],
  ],
};

function nameOf([sale, at, gatewayAt]: WorkerCrash): string {
  return `${sale}: ${at}${gatewayAt === undefined ? '' : `, and of the gateway ${gatewayAt}`}`;
}

/** A payment that a worker, and perhaps its gateway, has died at. */
async function paidAtDeath([sale, at, gatewayAt]: WorkerCrash): Promise<CrashPayment> {
  const { stack } = sales.running;
  const payment = await sales.newPayment(sale);
  const worker = await startCrashingX402(stack, at, payment.victim, NO_SOCKET);
  const dying = gatewayAt && (await startCrashingGateway(stack, gatewayAt, payment.victim, NO_SOCKET));
  if (dying) await sold(dying.url);
  void payment.present(dying ? dying.url : sales.gatewayUrl);
  await Promise.all([worker.crashed(), dying && dying.crashed()]);
  return payment;
}

function describeWorkerCrashes(forms: readonly SaleName[]): void {
  const tables = Object.entries(WORKER_CRASHES)
    .map(([when, crashes]) => [when, crashes.filter(([sale]) => forms.includes(sale))] as const)
    .filter(([, crashes]) => crashes.length > 0);
  describe.each(tables)('a payment survives the death of the x402 worker %s', (_, crashes) => {
    const payments = new Map<string, CrashPayment>();

    // One worker after the other dies at a payment of its own, and also continues those of the workers before it.
    beforeAll(async () => {
      const { stack } = sales.running;
      await stack.x402?.kill('SIGKILL');
      try {
        for (const crash of crashes) payments.set(nameOf(crash), await paidAtDeath(crash));
      } finally {
        await stack.x402?.start();
      }
    });

    it.concurrent.each(crashes.map(nameOf))(
      '%s',
      async (name) => {
        const payment = payments.get(name);
        if (payment === undefined) throw new Error(`no worker died ${name}`);
        await sales.untilAnswered(payment);
        await sales.expectPaidOnce(payment);
      },
      180_000,
    );
  });
}

/** The table of docs/decisions/0025-direct-settlement.md. */
const DIRECT_CRASHES: readonly WorkerCrash[] = [
  ['item', 'before payments.openSigned'],
  ['item', 'after payments.openSigned'],
  ['item', 'before chain.send'],
  ['item', 'after chain.send'],
  ['item', 'before settlements.note'],
  ['item', 'after settlements.note'],
  ['item', 'before attempts.settle'],
  ['item', 'after attempts.settle'],
  ['order', 'after payments.openSigned'],
  ['order', 'after settlements.note'],
  ['facilitatorOnce', 'after payments.openSigned'],
  ['facilitator', 'after chain.send'],
];

/** Payments whose gateway dies, too. They are not presented again before a workflow has settled them. */
const BOTH_CRASHES: readonly SaleName[] = ['item', 'order', 'facilitator'];

function describeDirectCrashes(forms: readonly SaleName[]): void {
  const crashes = DIRECT_CRASHES.filter(([sale]) => forms.includes(sale));
  describe('a payment that the x402 worker settles directly survives the death of that worker', () => {
    const payments = new Map<string, CrashPayment>();
    const late = new Map<SaleName, CrashPayment>();
    let gateway: CrashingApi;

    beforeAll(async () => {
      const { stack } = sales.running;
      const own = ownSocket();
      gateway = await startCrashingGateway(stack, '', (await sales.newPayment('item')).victim, own);
      await sold(gateway.url);
      for (const crash of crashes) {
        const [sale, at] = crash;
        const payment = await sales.newPayment(sale);
        const worker = await startCrashingX402(stack, at, payment.victim, own);
        await payment.present(gateway.url);
        await worker.crashed();
        payments.set(nameOf(crash), payment);
      }
      await stack.x402?.kill('SIGKILL');
      try {
        for (const sale of BOTH_CRASHES.filter((each) => forms.includes(each)))
          late.set(sale, await leftByBoth(sale));
        const [first] = late.values();
        if (first !== undefined)
          for (const at of ['before workflow.start', 'after workflow.start'])
            await (await startCrashingX402(stack, at, first.victim, NO_SOCKET)).crashed();
      } finally {
        await stack.x402?.start();
      }
    }, 300_000);
    afterAll(() => gateway?.stop());

    it.concurrent.each(crashes.map(nameOf))(
      '%s, and its first request is answered',
      async (name) => {
        const payment = payments.get(name);
        if (payment === undefined) throw new Error(`no worker died ${name}`);
        expect(payment.answers).toHaveLength(1);
        // The first answer is the expected one, so that nothing is presented again.
        await sales.untilAnswered(payment);
        expect(payment.answers).toHaveLength(1);
        await sales.expectPaidOnce(payment);
        await vi.waitFor(async () => {
          const { status } = await sales.ledger.settlements.get(payment.id);
          expect(status).toBe('finalized');
        }, 90_000);
        const requests = name.startsWith('facilitator') ? 0 : 1;
        expect(sales.asked.get(payment.target) ?? []).toHaveLength(requests);
      },
      180_000,
    );

    it.concurrent.each(BOTH_CRASHES.filter((sale) => forms.includes(sale)))(
      '%s, of its gateway, and of the workers that start its workflow',
      async (sale) => {
        const payment = late.get(sale);
        if (payment === undefined) throw new Error(`no gateway died at ${sale}`);
        await vi.waitFor(async () => {
          const { status } = await sales.ledger.settlements.get(payment.id);
          expect(status).toBe('finalized');
        }, 90_000);
        expect(payment.answers).toEqual([]);
        await sales.untilAnswered(payment);
        await sales.expectPaidOnce(payment);
      },
      180_000,
    );
  });
}

/** A payment whose x402 worker dies after it has stored it, and whose gateway dies before it stores it itself. */
async function leftByBoth(sale: SaleName): Promise<CrashPayment> {
  const { stack } = sales.running;
  const payment = await sales.newPayment(sale);
  const own = ownSocket();
  const [other, worker] = await Promise.all([
    startCrashingGateway(stack, 'before payments.open', payment.victim, own),
    startCrashingX402(stack, 'after payments.openSigned', payment.victim, own),
  ]);
  await sold(other.url);
  expect(await payment.present(other.url)).toBeNull();
  await Promise.all([worker.crashed(), other.crashed()]);
  expect(await sales.ledger.attempts.of(payment.id)).toMatchObject([{ n: 1, state: 'signed' }]);
  return payment;
}

interface GatewayCrash {
  readonly sale: SaleName;
  readonly at: string;
  /** The answer that the buyer gets in the end. Default: the item. */
  readonly answer?: readonly [status: number, text: string];
  /** Number of requests that the upstream receives. Default: not checked, as a GET may be repeated. */
  readonly asked?: number;
}

const REFUNDABLE = [502, 'the payment is recorded as refundable'] as const;
const CANCELLED = [502, 'nothing was paid'] as const;

/** Payments of workflows. */
const GATEWAY_CRASHES: readonly GatewayCrash[] = [
  { sale: 'item', at: 'before payments.open' },
  { sale: 'item', at: 'after payments.open' },
  { sale: 'item', at: 'before workflow.executeUpdateWithStart' },
  { sale: 'item', at: 'after workflow.executeUpdateWithStart' },
  { sale: 'example', at: 'before payments.open' },
  { sale: 'example', at: 'after payments.open' },
  { sale: 'example', at: 'before obligations.markServed' },
  { sale: 'submitted', at: 'before payments.open' },
  { sale: 'submitted', at: 'after payments.open' },
  { sale: 'submitted', at: 'after obligations.markServed', asked: 1 },
  { sale: 'first', at: 'after payments.open' },
  { sale: 'first', at: 'before obligations.storeAnswer', asked: 2 },
  { sale: 'first', at: 'after obligations.storeAnswer', asked: 1 },
  { sale: 'first', at: 'before obligations.markServed', asked: 1 },
  { sale: 'firstOrder', at: 'before obligations.storeAnswer', answer: CANCELLED, asked: 1 },
  { sale: 'firstOrder', at: 'after obligations.storeAnswer', asked: 1 },
  { sale: 'facilitatorOnce', at: 'after payments.open' },
];

/** Payments that the x402 worker settles directly. */
const DIRECT_GATEWAY_CRASHES: readonly GatewayCrash[] = [
  { sale: 'item', at: 'before obligations.markServed' },
  { sale: 'item', at: 'after obligations.markServed' },
  { sale: 'order', at: 'before obligations.take', asked: 1 },
  { sale: 'order', at: 'after obligations.take', answer: REFUNDABLE, asked: 0 },
  { sale: 'order', at: 'before obligations.markServed', answer: REFUNDABLE, asked: 1 },
  { sale: 'order', at: 'after obligations.markServed', asked: 1 },
  { sale: 'orderAgain', at: 'before obligations.markServed', asked: 2 },
  { sale: 'facilitatorOnce', at: 'before payments.get' },
  { sale: 'facilitatorOnce', at: 'after obligations.claim' },
  { sale: 'facilitator', at: 'after obligations.claim' },
];

function describeGatewayCrashes(forms: readonly SaleName[]): void {
  const isTested = ({ sale }: GatewayCrash) => forms.includes(sale);
  describe('a payment survives the death of the gateway', () => {
    it.concurrent.each([
      ...GATEWAY_CRASHES.filter(isTested).map(
        (crash) => [`${crash.sale}: ${crash.at}`, crash, NO_SOCKET] as const,
      ),
      ...DIRECT_GATEWAY_CRASHES.filter(isTested).map(
        (crash) => [`${crash.sale}: ${crash.at}`, crash, null] as const,
      ),
    ])(
      '%s',
      async (_, { sale, at, answer, asked }, noSocket) => {
        const payment = await sales.newPayment(sale);
        const socket = noSocket ?? stackSocket();
        const gateway = await startCrashingGateway(sales.running.stack, at, payment.victim, socket);
        await sold(gateway.url);
        expect(await payment.present(gateway.url)).toBeNull();
        await gateway.crashed();
        await sales.untilAnswered(payment, answer);
        if (answer !== CANCELLED) await sales.expectPaidOnce(payment);
        if (asked !== undefined) expect(sales.asked.get(payment.target) ?? []).toHaveLength(asked);
      },
      180_000,
    );
  });
}

/** Kills the processes of sales in these forms. `ends`: payments that are not served in the end. */
export function describeCrashes(
  forms: readonly SaleName[],
  ends: { readonly refundable: number; readonly void: number },
): void {
  beforeAll(async () => {
    sales = await CrashSales.open();
  });
  afterAll(() => sales?.close());
  describeWorkerCrashes(forms);
  describeDirectCrashes(forms);
  describeGatewayCrashes(forms);
  it('after all deaths, each payment in the blocks is served once or refundable', async () => {
    const { ledger, payments } = sales;
    const presented = payments.filter(({ answers }) => answers.length > 0);
    const readRows = () => Promise.all(presented.map(({ id }) => ledger.payments.get(id)));
    await vi.waitFor(async () => {
      const settled = await Promise.all(presented.map(({ id }) => ledger.settlements.get(id)));
      const unsettled = settled.filter(({ status }) => status !== 'finalized' && status !== 'cancelled');
      expect(unsettled).toEqual([]);
      expect((await readRows()).filter(({ state }) => state === 'owed')).toEqual([]);
    }, 90_000);
    const made = await sales.inBlocks();
    const rows = await readRows();
    const inState = (state: string) => rows.filter((row) => row.state === state).length;
    expect({ refundable: inState('refundable'), void: inState('void') }).toEqual(ends);
    expect(made).toHaveLength(inState('served') + inState('refundable'));
    expect(new Set(made).size).toBe(made.length);
    const successes = (payment: CrashPayment) =>
      payment.answers.filter(([, text]) => text.includes('"success":true')).length;
    const sellers = presented.filter(({ sale }) => sale === 'facilitatorOnce');
    expect(sellers.map(successes)).toEqual(sellers.map(() => 1));
  }, 120_000);
}
