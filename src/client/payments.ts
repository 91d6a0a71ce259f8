import type { PaymentState } from '../domain/payment.ts';
import type { Payment, PaymentPage } from './api.ts';
import { Calls } from './calls.ts';
import { itemsOf, type PageOptions } from './pages.ts';
import type { CallOptions } from './waiting.ts';

export interface PaymentFilter {
  readonly state?: PaymentState;
}

export class PaymentCalls extends Calls {
  /**
   * The payment with this id, message hash (hex) or signature (base58).
   *
   * @throws SluiceError `NotFound` (404).
   */
  get(id: string, options?: CallOptions): Promise<Payment> {
    return this.read(`/v1/payments/${encodeURIComponent(id)}`, options);
  }

  /** All matching payments, newest first. Fetches pages as they are read. */
  list(filter: PaymentFilter = {}, options?: CallOptions): AsyncGenerator<Payment, void, undefined> {
    return itemsOf(
      (cursor) => this.page(filter, { cursor, ...options }),
      ({ payments }) => payments,
    );
  }

  /** One page of at most `limit` (1-200) payments. */
  page(filter: PaymentFilter = {}, options?: PageOptions): Promise<PaymentPage> {
    return this.readPage('/v1/payments', { ...filter }, options);
  }
}
