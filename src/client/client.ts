import { isTerminal } from '../domain/settlement.ts';
import { AlertCalls } from './alerts.ts';
import { AssetCalls } from './assets.ts';
import { BackfillCalls } from './backfills.ts';
import { DepositAddressCalls } from './deposit-addresses.ts';
import { DepositCalls } from './deposits.ts';
import type { Explanation } from './evidence.ts';
import type { HotWallet } from './hot-wallets.ts';
import { type PageOptions, pagesOf } from './pages.ts';
import { PauseCalls } from './pauses.ts';
import { PaymentCalls } from './payments.ts';
import type { Reconciliation } from './reconciliation.ts';
import { ScanCalls } from './scan.ts';
import { SettlementCalls } from './settlements.ts';
import { pathPart, queryOf, type SluiceClientOptions, Transport } from './transport.ts';
import type { ListFilter, Withdrawal, WithdrawalPage, WithdrawalSummary, WithdrawalTerms } from './types.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';
import { WebhookCalls } from './webhooks.ts';

export type { Alert, AlertCalls, AlertFilter, AlertPage } from './alerts.ts';
export type { Asset, AssetCalls, AssetChange } from './assets.ts';
export type {
  AuditDifference,
  AuditReport,
  Backfill,
  BackfillCalls,
  BackfillPage,
  BackfillRequest,
} from './backfills.ts';
export type {
  AddressImport,
  AddressManifest,
  AddressRelease,
  DepositAddress,
  DepositAddressCalls,
  DepositAddressState,
  ImportOptions,
  TokenAccount,
  Warning,
} from './deposit-addresses.ts';
export type {
  Deposit,
  DepositCalls,
  DepositEvent,
  DepositFilter,
  DepositPage,
  DepositState,
  FollowOptions,
  NotCreditedReason,
} from './deposits.ts';
export { SluiceError, type SluiceErrorCode } from './errors.ts';
export type { AttemptEvidence, ExplainedAttempt, Explanation, ShownBlock, StatusAnswer } from './evidence.ts';
export type { HotWallet, WalletBaseline } from './hot-wallets.ts';
export type { PageOptions } from './pages.ts';
export type { Pause, PauseCalls, PauseOptions, ResumeOptions } from './pauses.ts';
export type { Payment, PaymentCalls, PaymentFilter, PaymentPage, PaymentState } from './payments.ts';
export type {
  EndedReconciliation,
  OpenReconciliation,
  ReconciledWallets,
  Reconciliation,
  UnreadWallet,
} from './reconciliation.ts';
export type { ScanCalls, ScanGap, ScanOverview, ScanRange, ScanStatus } from './scan.ts';
export type {
  SettlementCalls,
  SettlementExplanation,
  SettlementFilter,
  SettlementPage,
  SettlementStatus,
  SettlementView,
} from './settlements.ts';
export type { SluiceClientOptions } from './transport.ts';
export type {
  Attempt,
  ListFilter,
  Problem,
  StatusReason,
  Withdrawal,
  WithdrawalPage,
  WithdrawalStatus,
  WithdrawalSummary,
  WithdrawalTerms,
} from './types.ts';

export { type ReceivedWebhook, verifyWebhook } from './verify-webhook.ts';
export type { CallOptions, PollOptions } from './waiting.ts';
export type {
  AlertEventData,
  DepositEventData,
  WebhookEvent,
  WithdrawalEventData,
} from './webhook-events.ts';
export type {
  DeliveryState,
  Webhook,
  WebhookCalls,
  WebhookDelivery,
  WebhookDeliveryPage,
  WebhookEventType,
  WebhookTopic,
  WebhookWithBacklog,
  WebhookWithSecret,
} from './webhooks.ts';

export interface WaitOptions extends PollOptions {
  /** Called with the first state, and with each later one that differs in status, reason or attempts. */
  readonly onChange?: (withdrawal: Withdrawal) => void;
}

const PAGE_SIZE = 100;

/**
 * Typed client of the Sluice API, without dependencies. Every call is idempotent. The client retries a call if the
 * API is unreachable or not ready; the `signal` in its last argument ends the retries.
 *
 * @example
 * const sluice = new SluiceClient({ baseUrl: 'http://127.0.0.1:3402', apiKey });
 * await sluice.withdraw({ id: 'order-17', asset: 'SOL', amount: '1500000000', destination });
 * const paid = await sluice.waitForFinal('order-17');
 */
export class SluiceClient {
  /** Settlements of every kind, withdrawals included. */
  readonly settlements: SettlementCalls;
  readonly payments: PaymentCalls;
  readonly depositAddresses: DepositAddressCalls;
  readonly deposits: DepositCalls;
  readonly assets: AssetCalls;
  readonly scan: ScanCalls;
  readonly backfills: BackfillCalls;
  readonly webhooks: WebhookCalls;
  readonly alerts: AlertCalls;
  readonly pauses: PauseCalls;
  readonly #transport: Transport;

  constructor(options: SluiceClientOptions) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.settlements = new SettlementCalls(transport);
    this.payments = new PaymentCalls(transport);
    this.depositAddresses = new DepositAddressCalls(transport);
    this.deposits = new DepositCalls(transport);
    this.assets = new AssetCalls(transport);
    this.scan = new ScanCalls(transport);
    this.backfills = new BackfillCalls(transport);
    this.webhooks = new WebhookCalls(transport);
    this.alerts = new AlertCalls(transport);
    this.pauses = new PauseCalls(transport);
  }

  /**
   * Creates a withdrawal. The same id and terms again return the current state of that withdrawal.
   *
   * @throws SluiceError `TermsConflict` (409) if the id has other terms, `InvalidRequest` (400) with the field,
   * `AssetRejected` or `DestinationRejected` (409) for base58 text that is not an address.
   */
  withdraw(terms: WithdrawalTerms, options?: CallOptions): Promise<Withdrawal> {
    return this.#transport.call({ method: 'POST', path: '/v1/withdrawals', body: terms }, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(id: string, options?: CallOptions): Promise<Withdrawal> {
    return this.#transport.call({ method: 'GET', path: pathOf(id) }, options);
  }

  /**
   * Explains the progress of a withdrawal: current node answers, missing evidence, next step. Read-only.
   *
   * @throws SluiceError `NotFound` (404).
   */
  async explain(id: string, options?: CallOptions): Promise<Explanation> {
    return this.#transport.call({ method: 'GET', path: `${pathOf(id)}/explain` }, options);
  }

  async hotWallets(options?: CallOptions): Promise<readonly HotWallet[]> {
    const { hotWallets } = await this.#transport.call<{ readonly hotWallets: readonly HotWallet[] }>(
      {
        method: 'GET',
        path: '/v1/hot-wallets',
      },
      options,
    );
    return hotWallets;
  }

  /** Progress and result of the comparison of wallet balances with the database. */
  reconciliation(options?: CallOptions): Promise<Reconciliation> {
    return this.#transport.call({ method: 'GET', path: '/v1/reconciliation' }, options);
  }

  /** All matching withdrawals, newest first. Fetches pages as they are read. */
  async *list(
    filter: ListFilter = {},
    options?: CallOptions,
  ): AsyncGenerator<WithdrawalSummary, void, undefined> {
    const pages = pagesOf((cursor) => this.page(filter, { cursor, ...options }));
    for await (const { withdrawals } of pages) yield* withdrawals;
  }

  /** One page of at most `limit` (1-200) withdrawals. */
  page(
    filter: ListFilter = {},
    { limit = PAGE_SIZE, cursor, signal }: PageOptions = {},
  ): Promise<WithdrawalPage> {
    const path = `/v1/withdrawals${queryOf({ limit, ...filter, cursor })}`;
    return this.#transport.call({ method: 'GET', path }, { signal });
  }

  /**
   * Confirms a withdrawal that awaits confirmation: Sluice then pays the destination.
   *
   * @throws SluiceError `NotAwaitingConfirmation` (409).
   */
  async confirm(id: string, options?: CallOptions): Promise<Withdrawal> {
    return this.#transport.call({ method: 'POST', path: `${pathOf(id)}/confirm` }, options);
  }

  /**
   * Cancels a withdrawal that has no attempt yet.
   *
   * @throws SluiceError `NotCancellable` (409), `RecordInDoubt` (503) while an unrecorded transaction may have paid it.
   */
  async cancel(id: string, options?: CallOptions): Promise<Withdrawal> {
    return this.#transport.call({ method: 'POST', path: `${pathOf(id)}/cancel` }, options);
  }

  /**
   * Marks a withdrawal as paid by a transaction that is not in the database. It becomes `cancelled` with the reason
   * `paid_already`: do not refund the customer.
   *
   * @throws SluiceError `NotCancellable` (409), also if no alert and no database restore suggests that it may be paid.
   */
  async endAsPaid(id: string, reason: string, options?: CallOptions): Promise<Withdrawal> {
    return this.#transport.call({ method: 'POST', path: `${pathOf(id)}/paid`, body: { reason } }, options);
  }

  /**
   * Waits until the withdrawal is finalized, rejected, cancelled or failed, without a time limit and across API
   * restarts. Check `status` of the result. Only `signal` ends the wait early.
   *
   * @throws SluiceError for errors that waiting cannot resolve, such as `NotFound`; the reason of `signal`.
   */
  async waitForFinal(id: string, options: WaitOptions = {}): Promise<Withdrawal> {
    const { onChange, signal, onSilence, pollMs = 500 } = options;
    for (let shown = ''; ; ) {
      const seen = await untilAnswered(() => this.get(id, { signal }), { signal, onSilence, pollMs });
      const face = JSON.stringify([seen.status, seen.reason, seen.attempts]);
      if (face !== shown) onChange?.(seen);
      shown = face;
      if (isTerminal(seen.status)) return seen;
      await delay(pollMs, signal);
    }
  }
}

function pathOf(id: string): string {
  return `/v1/withdrawals/${pathPart(id)}`;
}
