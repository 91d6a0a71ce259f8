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
  /** Id of the withdrawal; for every other kind `<kind>/<subject>`. */
  readonly id: string;
  readonly kind: string;
  /** Unique within the kind. */
  readonly subject: string;
  readonly status: SettlementStatus;
  readonly reason: StatusReason | null;
  /** Signature of the newest signed attempt in base58; null until one is signed. */
  readonly signature: string | null;
  /** Id of the Temporal workflow of the settlement. */
  readonly workflowId: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** One page of a list, newest first. */
export interface SettlementPage {
  readonly settlements: readonly SettlementView[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly nextCursor: string | null;
}

/** Which settlements a list shows; all conditions must hold. */
export interface SettlementFilter {
  readonly kind?: string;
  readonly subject?: string;
  readonly status?: SettlementStatus;
  /** base58 signature of any of its attempts. */
  readonly signature?: string;
}

/** What is known of a settlement at this moment, and what comes next. Asking changes nothing. */
export interface SettlementExplanation extends SettlementView {
  /** What a withdrawal pays, in base units; null for settlements of other kinds. */
  readonly terms: { readonly asset: string; readonly amount: string; readonly destination: string } | null;
  readonly waitsFor: string;
  readonly nextStep: string;
  /** The one that may still land, else the last one that ended; null where none was made. */
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

/** Settlements of every kind: withdrawals, and what Sluice does on chain for itself. */
export class SettlementCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All settlements that match, newest first; pages are fetched as they are read. */
  async *list(
    filter: SettlementFilter = {},
    options?: CallOptions,
  ): AsyncGenerator<SettlementView, void, undefined> {
    const pages = pagesOf((cursor) => this.page(filter, { cursor, ...options }));
    for await (const { settlements } of pages) yield* settlements;
  }

  /** One page of the list, of at most `limit` (1-200) settlements. */
  page(
    filter: SettlementFilter = {},
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<SettlementPage> {
    const path = `/v1/settlements${queryOf({ limit, ...filter, cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Explains the progress of a settlement: node answers now, missing evidence, next step. Read-only.
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
   * @throws SluiceError `NotFound` (404), `NotCancellable` (409), also where no alert and no restored record says that it may be paid.
   */
  endAsPaid(id: string, reason: string, options?: CallOptions): Promise<SettlementView> {
    const path = `/v1/settlements/paid${queryOf({ id })}`;
    return this.#transport.call({ method: 'POST', path, body: { reason } }, options);
  }
}
