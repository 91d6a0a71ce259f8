import { isTerminal } from '../domain/settlement.ts';
import { AlertCalls } from './alerts.ts';
import type {
  Explanation,
  HotWallet,
  HotWallets,
  Reconciliation,
  Withdrawal,
  WithdrawalSummary,
  WithdrawalTerms,
} from './api.ts';
import { AssetCalls } from './assets.ts';
import { BackfillCalls } from './backfills.ts';
import { ListCalls } from './calls.ts';
import { DepositAddressCalls } from './deposit-addresses.ts';
import { DepositCalls } from './deposits.ts';
import { PauseCalls } from './pauses.ts';
import { PaymentCalls } from './payments.ts';
import { RoutesCalls } from './routes.ts';
import { ScanCalls } from './scan.ts';
import { SettlementCalls } from './settlements.ts';
import { pathPart, type SluiceClientOptions, Transport } from './transport.ts';
import { type CallOptions, delay, type PollOptions, untilAnswered } from './waiting.ts';
import { WebhookCalls } from './webhooks.ts';

export type { DepositAddressState, NotCreditedReason } from '../domain/deposit.ts';
export type { PaymentState } from '../domain/payment.ts';
export type { DeliveryState, WebhookEventType, WebhookTopic } from '../domain/webhook.ts';
export type { AlertCalls } from './alerts.ts';
export type * from './api.ts';
export type { AssetCalls } from './assets.ts';
export type { BackfillCalls } from './backfills.ts';
export type { FilterOf, ListPage, PageOptions } from './calls.ts';
export type { DepositAddressCalls } from './deposit-addresses.ts';
export type { DepositCalls, FollowOptions } from './deposits.ts';
export { SluiceError, type SluiceErrorCode } from './errors.ts';
export type { PauseCalls, PauseOptions, ResumeOptions } from './pauses.ts';
export type { PaymentCalls } from './payments.ts';
export type { RoutesCalls } from './routes.ts';
export type { ScanCalls, ScanGap, ScanOverview, ScanRange, ScanStatus } from './scan.ts';
export type { SettlementCalls } from './settlements.ts';
export type { SluiceClientOptions } from './transport.ts';
export { type ReceivedWebhook, verifyWebhook } from './verify-webhook.ts';
export type { CallOptions, PollOptions } from './waiting.ts';
export type {
  AlertEventData,
  DepositEventData,
  PaymentEventData,
  WebhookEvent,
  WithdrawalEventData,
} from './webhook-events.ts';
export type { WebhookCalls } from './webhooks.ts';

export interface WaitOptions extends PollOptions {
  /** Called with the first state, and with each later one that differs in status, reason or attempts. */
  readonly onChange?: (withdrawal: Withdrawal) => void;
}

/**
 * Typed client of the Sluice API, without dependencies. Every call is idempotent. The client retries a call if the
 * API is unreachable or not ready; the `signal` in its last argument ends the retries.
 *
 * @example
 * const sluice = new SluiceClient({ baseUrl: 'http://127.0.0.1:3402', apiKey });
 * await sluice.withdraw({ id: 'order-17', asset: 'SOL', amount: '1500000000', destination });
 * const paid = await sluice.waitForFinal('order-17');
 */
export class SluiceClient extends ListCalls<'listWithdrawals', 'withdrawals', WithdrawalSummary> {
  protected readonly path = '/v1/withdrawals';
  protected readonly items = 'withdrawals';
  /** Settlements of every kind, withdrawals included. */
  readonly settlements = this.part(SettlementCalls);
  readonly payments = this.part(PaymentCalls);
  /** Routes of the x402 gateways. */
  readonly routes = this.part(RoutesCalls);
  readonly depositAddresses = this.part(DepositAddressCalls);
  readonly deposits = this.part(DepositCalls);
  readonly assets = this.part(AssetCalls);
  readonly scan = this.part(ScanCalls);
  readonly backfills = this.part(BackfillCalls);
  readonly webhooks = this.part(WebhookCalls);
  readonly alerts = this.part(AlertCalls);
  readonly pauses = this.part(PauseCalls);

  constructor(options: SluiceClientOptions) {
    super(new Transport(options));
  }

  /**
   * Creates a withdrawal. A repeated call with the same id and terms returns the current state of the withdrawal.
   *
   * @throws SluiceError `TermsConflict` (409) if the id has other terms, `InvalidRequest` (400) with the field,
   * `AssetRejected` or `DestinationRejected` (409) for base58 text that is not an address.
   */
  withdraw(terms: WithdrawalTerms, options?: CallOptions): Promise<Withdrawal> {
    return this.send('POST', '/v1/withdrawals', terms, options);
  }

  /** @throws SluiceError `NotFound` (404). */
  async get(id: string, options?: CallOptions): Promise<Withdrawal> {
    return this.read(pathOf(id), options);
  }

  /**
   * Explains the progress of a withdrawal: current node answers, missing evidence, next step. Read-only.
   *
   * @throws SluiceError `NotFound` (404).
   */
  async explain(id: string, options?: CallOptions): Promise<Explanation> {
    return this.read(`${pathOf(id)}/explain`, options);
  }

  async hotWallets(options?: CallOptions): Promise<readonly HotWallet[]> {
    return (await this.read<HotWallets>('/v1/hot-wallets', options)).hotWallets;
  }

  /** Progress and result of the comparison of wallet balances with the database. */
  reconciliation(options?: CallOptions): Promise<Reconciliation> {
    return this.read('/v1/reconciliation', options);
  }

  /**
   * Confirms a withdrawal that awaits confirmation: Sluice then pays the destination.
   *
   * @throws SluiceError `NotAwaitingConfirmation` (409).
   */
  async confirm(id: string, options?: CallOptions): Promise<Withdrawal> {
    return this.send('POST', `${pathOf(id)}/confirm`, undefined, options);
  }

  /**
   * Cancels a withdrawal that has no attempt yet.
   *
   * @throws SluiceError `NotCancellable` (409), `DatabaseIncomplete` (503) while an unrecorded transaction may have paid the
   * withdrawal.
   */
  async cancel(id: string, options?: CallOptions): Promise<Withdrawal> {
    return this.send('POST', `${pathOf(id)}/cancel`, undefined, options);
  }

  /**
   * Marks a withdrawal as paid by a transaction that is not in the database. It becomes `cancelled` with the reason
   * `paid_already`: do not refund the customer.
   *
   * @throws SluiceError `NotCancellable` (409), also if no alert and no database restore suggests such a payment.
   */
  async endAsPaid(id: string, reason: string, options?: CallOptions): Promise<Withdrawal> {
    return this.send('POST', `${pathOf(id)}/paid`, { reason }, options);
  }

  /**
   * Waits until the withdrawal is finalized, rejected, cancelled or failed, without a time limit and across API
   * restarts. Check `status` of the result. Only `signal` ends the wait early.
   *
   * @throws SluiceError for errors that waiting cannot resolve, such as `NotFound`; the reason of `signal`.
   */
  async waitForFinal(id: string, options: WaitOptions = {}): Promise<Withdrawal> {
    const { onChange, signal, onSilence, pollMs = 500 } = options;
    for (let lastProgress = ''; ; ) {
      const withdrawal = await untilAnswered(() => this.get(id, { signal }), { signal, onSilence, pollMs });
      const progress = JSON.stringify([withdrawal.status, withdrawal.reason, withdrawal.attempts]);
      if (progress !== lastProgress) onChange?.(withdrawal);
      lastProgress = progress;
      if (isTerminal(withdrawal.status)) return withdrawal;
      await delay(pollMs, signal);
    }
  }
}

function pathOf(id: string): string {
  return `/v1/withdrawals/${pathPart(id)}`;
}
