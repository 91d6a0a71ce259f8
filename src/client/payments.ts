import type { PaymentState } from '../domain/payment.ts';
import type { Payment, PaymentPage } from './api.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

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
