import type { SettlementExplanation, SettlementPage, SettlementStatus, SettlementView } from './api.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

/** All conditions must match. */
export interface SettlementFilter {
  readonly kind?: string;
  readonly subject?: string;
  readonly status?: SettlementStatus;
  /** base58 signature of any of its attempts. */
  readonly signature?: string;
}

const PAGE_SIZE = 100;

/** Settlements of every kind: withdrawals, x402 payments, and Sluice's own transactions. */
export class SettlementCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All matching settlements, newest first. Fetches pages as they are read. */
  async *list(
    filter: SettlementFilter = {},
    options?: CallOptions,
  ): AsyncGenerator<SettlementView, void, undefined> {
    const pages = pagesOf((cursor) => this.page(filter, { cursor, ...options }));
    for await (const { settlements } of pages) yield* settlements;
  }

  /** One page of at most `limit` (1-200) settlements. */
  page(
    filter: SettlementFilter = {},
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<SettlementPage> {
    const path = `/v1/settlements${queryOf({ limit, ...filter, cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Explains the progress of a settlement: current node answers, missing evidence, next step. Read-only.
   *
   * @throws SluiceError `NotFound` (404).
   */
  explain(id: string, options?: CallOptions): Promise<SettlementExplanation> {
    return this.#transport.call(
      { method: 'GET', path: `/v1/settlements/explain${queryOf({ id })}` },
      options,
    );
  }

  /**
   * Marks a settlement as paid by another transaction. It becomes `cancelled` with the reason `paid_already`.
   *
   * @throws SluiceError `NotFound` (404), `NotCancellable` (409), also if no alert and no database restore suggests
   * that it may be paid.
   */
  endAsPaid(id: string, reason: string, options?: CallOptions): Promise<SettlementView> {
    const path = `/v1/settlements/paid${queryOf({ id })}`;
    return this.#transport.call({ method: 'POST', path, body: { reason } }, options);
  }
}
