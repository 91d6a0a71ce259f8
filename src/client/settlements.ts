import type { SettlementExplanation, SettlementView } from './api.ts';
import { ListCalls } from './calls.ts';
import { queryOf } from './transport.ts';
import type { CallOptions } from './waiting.ts';

/** Settlements of every kind: withdrawals, x402 payments, and Sluice's own transactions. */
export class SettlementCalls extends ListCalls<'listSettlements', 'settlements', SettlementView> {
  protected readonly path = '/v1/settlements';
  protected readonly items = 'settlements';

  /**
   * Explains the progress of a settlement: current node answers, missing evidence, next step. Read-only.
   *
   * @throws SluiceError `NotFound` (404).
   */
  explain(id: string, options?: CallOptions): Promise<SettlementExplanation> {
    return this.read(`/v1/settlements/explain${queryOf({ id })}`, options);
  }

  /**
   * Marks a settlement as paid by another transaction. It becomes `cancelled` with the reason `paid_already`.
   *
   * @throws SluiceError `NotFound` (404), `NotCancellable` (409), also if no alert and no database restore suggests
   * such a payment.
   */
  endAsPaid(id: string, reason: string, options?: CallOptions): Promise<SettlementView> {
    const path = `/v1/settlements/paid${queryOf({ id })}`;
    return this.send('POST', path, { reason }, options);
  }
}
