import type { Payment, PaymentDetails, Queries, Revenue, RevokedAccessPass } from './api.ts';
import { ListCalls } from './calls.ts';
import { queryOf } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export class PaymentCalls extends ListCalls<'listPayments', 'payments', Payment> {
  protected readonly path = '/v1/payments';
  protected readonly items = 'payments';

  /**
   * The payment with this id, message hash (hex) or signature (base58), with its settlement and its attempts.
   *
   * @throws SluiceError `NotFound` (404).
   */
  get(id: string, options?: CallOptions): Promise<PaymentDetails> {
    return this.read(`/v1/payments/${encodeURIComponent(id)}`, options);
  }

  /**
   * Revokes the access pass of a payment for good. False if it was revoked before.
   *
   * @throws SluiceError `NotFound` (404).
   */
  async revokePass(id: string, reason: string, options?: CallOptions): Promise<boolean> {
    const path = `/v1/payments/${encodeURIComponent(id)}/revoke`;
    return (await this.send<RevokedAccessPass>('POST', path, { reason }, options)).revoked;
  }

  /**
   * Sums of the payments that are served or owed, for each asset, and for each route or UTC day if `by` has it.
   *
   * @throws SluiceError `InvalidRequest` (400) for a period of more than 366 days.
   */
  revenue(query: Queries['getRevenue'] = {}, options?: CallOptions): Promise<Revenue> {
    return this.read(`/v1/payments/revenue${queryOf(query)}`, options);
  }
}
