import type { SettlementExplanation, SettlementPage, SettlementStatus, SettlementView } from './api.ts';
import { Calls } from './calls.ts';
import { itemsOf, type PageOptions } from './pages.ts';
import { queryOf } from './transport.ts';
import type { CallOptions } from './waiting.ts';

/** All conditions must match. */
export interface SettlementFilter {
  readonly kind?: string;
  readonly subject?: string;
  readonly status?: SettlementStatus;
  /** base58 signature of any of its attempts. */
  readonly signature?: string;
}

/** Settlements of every kind: withdrawals, x402 payments, and Sluice's own transactions. */
export class SettlementCalls extends Calls {
  /** All matching settlements, newest first. Fetches pages as they are read. */
  list(
    filter: SettlementFilter = {},
    options?: CallOptions,
  ): AsyncGenerator<SettlementView, void, undefined> {
    return itemsOf(
      (cursor) => this.page(filter, { cursor, ...options }),
      ({ settlements }) => settlements,
    );
  }

  /** One page of at most `limit` (1-200) settlements. */
  page(filter: SettlementFilter = {}, options?: PageOptions): Promise<SettlementPage> {
    return this.readPage('/v1/settlements', { ...filter }, options);
  }

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
   * that it may be paid.
   */
  endAsPaid(id: string, reason: string, options?: CallOptions): Promise<SettlementView> {
    const path = `/v1/settlements/paid${queryOf({ id })}`;
    return this.send('POST', path, { reason }, options);
  }
}
