import type { Payment, RevokedAccessPass } from './api.ts';
import { ListCalls } from './calls.ts';
import type { CallOptions } from './waiting.ts';

export class PaymentCalls extends ListCalls<'listPayments', 'payments', Payment> {
  protected readonly path = '/v1/payments';
  protected readonly items = 'payments';

  /**
   * The payment with this id, message hash (hex) or signature (base58).
   *
   * @throws SluiceError `NotFound` (404).
   */
  get(id: string, options?: CallOptions): Promise<Payment> {
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
}
