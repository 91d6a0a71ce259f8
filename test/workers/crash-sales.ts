import { readFileSync } from 'node:fs';
import { base58 } from '@scure/base';
import { sql } from 'kysely';
import { expect, vi } from 'vitest';
import { type PaymentForm, readTerms, signPayment, submit } from '../../devkit/localstack/buyer.ts';
import { incomingTransfersOnChain } from '../../devkit/localstack/chain-truth.ts';
import { rpc } from '../../devkit/localstack/rpc.ts';
import { paymentId } from '../../src/domain/payment.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { messageHashOf } from '../../src/solana/tx/message.ts';
import { readSigned } from '../../src/solana/tx/signed-transaction.ts';
import { NETWORKS } from '../../src/x402/terms.ts';
import { bodyOf, type HttpServer, startHttp } from '../support/http.ts';
import { type TestStack, testStack } from '../support/stack.ts';

/** A blockhash is valid for 75 s of such slots: a payment does not expire while four workers die. */
const SLOT_MS = 500;
const PRICE_UNITS = 1_000n;
const FACILITATOR_KEY = 'key-of-a-seller-with-a-shop';

/**
 * What is sold, and how its buyer pays. `order` is a POST that the route forbids to repeat; `orderAgain` permits it.
 * `facilitator`: a seller of its own settles by `/facilitator/settle`, with an Idempotency-Key; `facilitatorOnce`:
 * without one.
 */
export const SALES = {
  item: { path: '/item', form: 'v2' },
  order: { path: '/order', form: 'v2', method: 'POST' },
  orderAgain: { path: '/order-again', form: 'v1', method: 'POST' },
  example: { path: '/item', form: 'example' },
  submitted: { path: '/item', form: 'submitted' },
  first: { path: '/first', form: 'v2' },
  firstOrder: { path: '/first-order', form: 'example', method: 'POST' },
  facilitator: { path: '/item', form: 'v2', settles: 'with a key' },
  facilitatorOnce: { path: '/item', form: 'v1', settles: 'without a key' },
} as const satisfies Record<string, SaleForm>;
export type SaleName = keyof typeof SALES;

interface SaleForm {
  readonly path: string;
  readonly form: PaymentForm;
  readonly method?: 'POST';
  /** A seller settles by the facilitator, with or without an Idempotency-Key. Without the field, the gateway sells. */
  readonly settles?: 'with a key' | 'without a key';
}

type StatusAndText = readonly [status: number, text: string];

/** A signed payment for a request of its own. */
export interface CrashPayment {
  readonly sale: SaleName;
  readonly id: string;
  readonly target: string;
  /** Its message is unique to the bytes of this payment. */
  readonly victim: { readonly id: string; readonly destination: string };
  /** All answers to the payment. */
  readonly answers: readonly StatusAndText[];
  /** Presents the payment to the gateway at `gatewayUrl`. Null if there is no answer. */
  readonly present: (gatewayUrl: string) => Promise<StatusAndText | null>;
}

/** Sales of a stack whose processes die. The upstream counts the requests by target, with their idempotency key. */
export class CrashSales {
  readonly running: TestStack;
  readonly ledger: Ledger;
  readonly asked: ReadonlyMap<string, readonly string[]>;
  readonly payments: CrashPayment[] = [];
  readonly #upstream: HttpServer;
  #serial = 0;

  private constructor(parts: Pick<CrashSales, 'running' | 'ledger' | 'asked'>, upstream: HttpServer) {
    this.running = parts.running;
    this.ledger = parts.ledger;
    this.asked = parts.asked;
    this.#upstream = upstream;
  }

  static async open(settings: NodeJS.ProcessEnv = {}): Promise<CrashSales> {
    const asked = new Map<string, string[]>();
    const upstream = await startHttp(async (request, response) => {
      const body = (await bodyOf(request)).toString();
      const { url = '', headers } = request;
      asked.set(url, [...(asked.get(url) ?? []), String(headers['idempotency-key'])]);
      response.writeHead(200, { 'content-type': 'text/plain' }).end(contentOf(url, body));
    });
    const running = await testStack(SLOT_MS, settings, 'shared', {
      routesOf: ({ seller }) => ({
        payTo: seller,
        routes: [
          { path: '/item', price: '0.001', upstream: upstream.url },
          { path: '/order', method: 'POST', price: '0.001', upstream: upstream.url },
          { path: '/order-again', method: 'POST', price: '0.001', retryUnsafe: true, upstream: upstream.url },
          { path: '/first', flow: 'serve-first', price: '0.001', timeoutSeconds: 10, upstream: upstream.url },
          {
            path: '/first-order',
            method: 'POST',
            flow: 'serve-first',
            timeoutSeconds: 10,
            price: '0.001',
            upstream: upstream.url,
          },
        ],
      }),
    });
    const ledger = await openLedger(running.stack.databaseUrl);
    await ledger.apiKeys.addFacilitatorKey('seller', FACILITATOR_KEY);
    const sales = new CrashSales({ running, ledger, asked }, upstream);
    await sold(sales.gatewayUrl);
    return sales;
  }

  get gatewayUrl(): string {
    return this.running.stack.sales?.gatewayUrl ?? '';
  }

  async close(): Promise<void> {
    await this.ledger.close();
    await this.running.close();
    await this.#upstream.close();
  }

  /** A signed payment. A `submitted` one is confirmed. */
  async newPayment(sale: SaleName): Promise<CrashPayment> {
    const { path, form, method = 'GET', settles } = SALES[sale] as SaleForm;
    this.#serial += 1;
    const target = `${path}?n=${this.#serial}`;
    const body = method === 'POST' ? { body: bodyFor(target) } : {};
    const init = { method, ...body };
    const { sales, rpcUrls } = this.running.stack;
    if (sales === null) throw new Error('the stack sells');
    const key = Uint8Array.from(JSON.parse(readFileSync(sales.buyer.path, 'utf8')) as number[]);
    const [rpcUrl = ''] = rpcUrls;
    const terms = await readTerms(await fetch(this.gatewayUrl + target, init));
    const { headers, transaction } = await signPayment(form, terms, key, rpcUrl);
    if (form === 'submitted') await submit(transaction, rpcUrl);
    const message = readSigned(transaction)?.message ?? new Uint8Array();
    const id = paymentId(NETWORKS.localnet.caip2, messageHashOf(message));
    const victim = { id, destination: base58.encode(message) };
    const answers: StatusAndText[] = [];
    const present = async (gatewayUrl: string) => {
      const answer = await (settles === undefined
        ? answerOf(gatewayUrl + target, { ...init, headers })
        : answerOf(`${gatewayUrl}/facilitator/settle`, settleRequest(headers, terms, settles, target)));
      if (answer !== null) answers.push(answer);
      return answer;
    };
    const payment = { sale, id, target, victim, answers, present };
    this.payments.push(payment);
    return payment;
  }

  /** A conforming buyer presents the payment until it has the answer; the lease of a dead process is ended, as time would end it. */
  async untilAnswered(
    payment: CrashPayment,
    [status, text]: StatusAndText = servedAnswer(payment),
  ): Promise<void> {
    const isExpected = (answer: StatusAndText) => answer[0] === status && answer[1].includes(text);
    await vi.waitFor(async () => {
      if (payment.answers.some(isExpected)) return;
      await this.#endLease(payment.id);
      expect(await payment.present(this.gatewayUrl)).toEqual([status, expect.stringContaining(text)]);
    }, 90_000);
  }

  /** The signatures of all payments in the blocks. */
  async inBlocks(): Promise<readonly string[]> {
    const { rpcUrls, sales } = this.running.stack;
    const transfers = await incomingTransfersOnChain(rpcUrls[0] ?? '', new Set([sales?.seller ?? '']));
    return transfers
      .filter(({ asset, amount }) => asset === sales?.asset && amount === PRICE_UNITS)
      .map(({ signature }) => signature);
  }

  async #endLease(id: string): Promise<void> {
    await this.ledger.db
      .updateTable('payment')
      .set({ leaseUntil: sql<Date>`now() - interval '1 second'` })
      .where('id', '=', id)
      .where('leaseHolder', 'is not', null)
      .execute();
  }

  /** One transfer on the chain and one stored attempt; requests at the upstream under one key. */
  async expectPaidOnce({ id, target }: CrashPayment): Promise<void> {
    const attempts = await this.ledger.attempts.of(id);
    expect(attempts.map(({ n }) => n)).toEqual([1]);
    const { value } = await rpc<{ value: readonly ({ err: unknown } | null)[] }>(
      this.running.stack.rpcUrls[0] ?? '',
      'getSignatureStatuses',
      [[attempts[0]?.signature], { searchTransactionHistory: true }],
    );
    expect(value).toMatchObject([{ err: null }]);
    expect([...new Set(this.asked.get(target) ?? [id])]).toEqual([id]);
  }
}

/** Resolves when the gateway sells. */
export async function sold(gatewayUrl: string): Promise<void> {
  await vi.waitFor(async () => expect((await fetch(`${gatewayUrl}/item`)).status).toBe(402), 60_000);
}

/** The answer that the buyer of this payment must get in the end. */
function servedAnswer({ sale, target }: CrashPayment): StatusAndText {
  const { settles, method } = SALES[sale] as SaleForm;
  if (settles !== undefined) return [200, '"success":true'];
  return [200, contentOf(target, method === 'POST' ? bodyFor(target) : '')];
}

function bodyFor(target: string): string {
  return `order of ${target}`;
}

function contentOf(target: string, body: string): string {
  return `item ${target} for ${body}`;
}

function settleRequest(
  headers: Readonly<Record<string, string>>,
  terms: Awaited<ReturnType<typeof readTerms>>,
  settles: SaleForm['settles'],
  target: string,
): RequestInit {
  const [header = ''] = Object.values(headers);
  const paymentPayload = JSON.parse(Buffer.from(header, 'base64').toString()) as { x402Version: number };
  const { x402Version } = paymentPayload;
  const paymentRequirements = x402Version === 1 ? terms.v1[0] : terms.v2.accepts[0];
  const key: Record<string, string> = settles === 'with a key' ? { 'idempotency-key': target } : {};
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${FACILITATOR_KEY}`, ...key },
    body: JSON.stringify({ x402Version, paymentPayload, paymentRequirements }),
  };
}

async function answerOf(url: string, init: RequestInit): Promise<StatusAndText | null> {
  try {
    const response = await fetch(url, init);
    return [response.status, await response.text()];
  } catch {
    return null;
  }
}
