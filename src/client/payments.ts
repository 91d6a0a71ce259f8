import type { PaymentState } from '../domain/payment.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { PaymentState };

/** An x402 payment. Amounts are base units as decimal strings, times ISO-8601. */
export interface Payment {
  /** `x402/<network>/<sha256 of the message>`: also the id of its settlement and workflow. */
  readonly id: string;
  readonly state: PaymentState;
  /** Why it is refundable or unmatched, for display; otherwise null. */
  readonly reason: string | null;
  /** Transaction signature in base58; null until the attempt is signed. */
  readonly signature: string | null;
  readonly seller: 'gateway' | 'facilitator';
  readonly dialect: 'v2' | 'v1' | 'example' | 'submitted';
  readonly payer: string;
  /** Network as a CAIP-2 id. */
  readonly network: string;
  /** Mint address. */
  readonly asset: string;
  /** Price. */
  readonly amount: string;
  /** Amount received by the landed transaction; null until it was read. */
  readonly received: string | null;
  readonly payTo: string;
  /** Id of the route, such as `GET /reports/:id`. */
  readonly route: string;
  /** HTTP status of the upstream's response; null before it. */
  readonly answerStatus: number | null;
  readonly paidAt: string | null;
  readonly servedAt: string | null;
  readonly createdAt: string;
}

export interface PaymentPage {
  readonly payments: readonly Payment[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly nextCursor: string | null;
}

export interface PaymentFilter {
  readonly state?: PaymentState;
}

const PAGE_SIZE = 100;

export class PaymentCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * The payment with this id, message hash (hex) or signature (base58).
   *
   * @throws SluiceError `NotFound` (404).
   */
  get(id: string, options?: CallOptions): Promise<Payment> {
    return this.#transport.call({ method: 'GET', path: `/v1/payments/${encodeURIComponent(id)}` }, options);
  }

  /** All matching payments, newest first. Fetches pages as they are read. */
  async *list(filter: PaymentFilter = {}, options?: CallOptions): AsyncGenerator<Payment, void, undefined> {
    const pages = pagesOf((cursor) => this.page(filter, { cursor, ...options }));
    for await (const { payments } of pages) yield* payments;
  }

  /** One page of at most `limit` (1-200) payments. */
  page(
    filter: PaymentFilter = {},
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<PaymentPage> {
    const path = `/v1/payments${queryOf({ limit, ...filter, cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }
}
