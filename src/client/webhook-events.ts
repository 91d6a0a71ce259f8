import type { WebhookEventType } from '../domain/webhook.ts';
import type { Alert, Deposit, Payment, WithdrawalSummary } from './api.ts';

/** A deposit at the time of the event. */
export interface DepositEventData extends Deposit {
  /** Sequence of the same event in `sluice.deposits.events()`. */
  readonly sequence: string;
}

/** A withdrawal at the time of the event. */
export interface WithdrawalEventData
  extends Pick<
    WithdrawalSummary,
    'id' | 'status' | 'reason' | 'asset' | 'amount' | 'amountReceived' | 'destination' | 'memo' | 'updatedAt'
  > {
  /** base58 signature of the newest transaction of the withdrawal; null if there is none yet. */
  readonly signature: string | null;
}

/** An x402 payment at the time of the event. */
export type PaymentEventData = Payment;

/** An alert at the time of the event. */
export type AlertEventData = Omit<Alert, 'position'>;

interface EventEnvelope<Type extends WebhookEventType, Data> {
  readonly type: Type;
  /** Time of the event, ISO-8601. */
  readonly timestamp: string;
  readonly data: Data;
}

type OfFamily<Family extends string> = Extract<WebhookEventType, `${Family}.${string}`>;

/** A webhook event; `type` determines `data`. A newer Sluice can send other types: respond with 2xx and ignore them. */
export type WebhookEvent =
  | EventEnvelope<OfFamily<'deposit'>, DepositEventData>
  | EventEnvelope<OfFamily<'withdrawal'>, WithdrawalEventData>
  | EventEnvelope<OfFamily<'payment'>, PaymentEventData>
  | EventEnvelope<OfFamily<'alert'>, AlertEventData>;
