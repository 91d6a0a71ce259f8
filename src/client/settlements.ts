import type { AlertKind } from '../domain/alerts.ts';
import type { SettlementStatus, StatusReason } from '../domain/settlement.ts';
import type { ExplainedAttempt } from './evidence.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { queryOf, type Transport } from './transport.ts';
import type { Attempt } from './types.ts';
import type { CallOptions } from './waiting.ts';

export type { SettlementStatus };

/** One obligation that must reach the chain at most once. Times are ISO-8601. */
export interface SettlementView {
  /** The id of the withdrawal; for every other kind `<kind>/<subject>`. */
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** Signature of the newest signed attempt in base58; null until one is signed. */
  readonly signature: string | null;
  readonly workflowId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface SettlementPage {
  readonly settlements: readonly SettlementView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly nextCursor: string | null;
}

/** All conditions must match. */
export interface SettlementFilter {
  readonly kind?: string;
  readonly subject?: string;
  readonly status?: SettlementStatus;
  /** base58 signature of any of its attempts. */
  readonly signature?: string;
}

/** Current state of a settlement and its next step. Read-only. */
export interface SettlementExplanation extends SettlementView {
  /** Terms of a withdrawal, in base units; null for other kinds. */
  readonly terms: { readonly asset: string; readonly amount: string; readonly destination: string } | null;
  readonly waitsFor: string;
  readonly nextStep: string;
  /** The attempt that may still land, otherwise the last one that ended; null if there is none. */
  readonly attempt: ExplainedAttempt | null;
  /** All attempts, oldest first. */
  readonly attempts: readonly Attempt[];
  /** Open alerts about this settlement, newest first. */
  readonly alerts: readonly {
    readonly position: string;
    readonly kind: AlertKind;
    readonly message: string;
    readonly raisedAt: string;
  }[];
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
