import type { AlertKind } from '../domain/alerts.ts';
import type { WebhookEventType } from '../domain/webhook.ts';
import type { Deposit } from './deposits.ts';
import type { WithdrawalSummary } from './types.ts';

/** A deposit as it was at the event. */
export interface ToldDeposit extends Deposit {
  /** Of the event in the feed: it stands in `sluice.deposits.events()` under the same sequence. */
  readonly sequence: string;
}

/** A withdrawal as it was at the event. */
export interface ToldWithdrawal
  extends Pick<
    WithdrawalSummary,
    'id' | 'status' | 'reason' | 'asset' | 'amount' | 'amountReceived' | 'destination' | 'memo' | 'updatedAt'
  > {
  /** base58, of its newest transaction; null before there is one. */
  readonly signature: string | null;
}

/** An alert as it was at the event. Times are ISO-8601. */
export interface ToldAlert {
  readonly kind: AlertKind;
  /** What it is about, by its kind: a withdrawal's id, a signature, a deposit's id, a wallet, a node, a webhook's id, or `sluice`. */
  readonly subject: string;
  /** Explanation, for display. */
  readonly message: string;
  /** Path in the repository of the page that says what to do. */
  readonly runbook: string;
  /** Fields for programs, others for each kind. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly raisedAt: string;
  readonly lastSeenAt: string;
  /** How often it was seen. */
  readonly count: number;
  readonly closedAt: string | null;
}

interface Told<Type extends WebhookEventType, Data> {
  readonly type: Type;
  /** When it happened, ISO-8601. */
  readonly timestamp: string;
  readonly data: Data;
}

type OfFamily<Family extends string> = Extract<WebhookEventType, `${Family}.${string}`>;

/** What a webhook is told. `data` goes by `type`. A newer Sluice may tell of types that are not among these: answer 2xx and leave them. */
export type WebhookEvent =
  | Told<OfFamily<'deposit'>, ToldDeposit>
  | Told<OfFamily<'withdrawal'>, ToldWithdrawal>
  | Told<OfFamily<'alert'>, ToldAlert>;
