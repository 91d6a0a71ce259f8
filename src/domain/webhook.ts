import type { WithdrawalStatus } from './withdrawal.ts';

export const WEBHOOK_EVENTS = [
  'deposit.pending',
  'deposit.final',
  'deposit.dropped',
  'deposit.not_credited',
  'withdrawal.awaiting_confirmation',
  'withdrawal.awaiting_funds',
  'withdrawal.sending',
  'withdrawal.confirmed',
  'withdrawal.finalized',
  'withdrawal.rejected',
  'withdrawal.cancelled',
  'withdrawal.failed',
  'withdrawal.held',
  'payment.owed',
  'payment.served',
  'payment.settled',
  'payment.refundable',
  'payment.unmatched',
  'alert.raised',
  'alert.closed',
] as const;

/**
 * `deposit.`, `withdrawal.` or `payment.` and the new state, `payment.settled`, or `alert.raised` or `alert.closed`.
 * Public: never rename.
 */
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

export const WEBHOOK_TOPICS = [
  ...WEBHOOK_EVENTS,
  'deposit.*',
  'withdrawal.*',
  'payment.*',
  'alert.*',
  '*',
] as const;

/** A subscription: one event (`deposit.final`), one family (`deposit.*`), or all events (`*`). */
export type WebhookTopic = (typeof WEBHOOK_TOPICS)[number];

export const DELIVERY_STATES = ['waiting', 'delivered', 'dead'] as const;

/** State of one delivery. `dead`: not retried until it is replayed. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Retry settings of an event, as JSON for a Temporal history. */
export interface Patience {
  readonly firstRetryMs: number;
  /** The delay doubles after each failure, up to this limit. */
  readonly longestRetryMs: number;
  /** Number of failed tries after which a delivery is `dead`. Only failures of the receiver or its URL count. */
  readonly attempts: number;
}

export function waitAfter(tries: number, { firstRetryMs, longestRetryMs }: Patience): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.max(0, tries - 1));
}

/** The events of one entity for one endpoint, in the order in which they happened. */
export interface DeliveryLine {
  readonly endpoint: string;
  /** `withdrawal/<id>`, `deposit/<id>`, `payment/<id>` or `alert/<number>`. */
  readonly entity: string;
}

/** One event for one endpoint. `event` is the event's id, because a restored database repeats sequence numbers. */
export interface DeliveryKey {
  readonly endpoint: string;
  readonly event: string;
}

interface DeliveryTarget {
  readonly type: WebhookEventType;
  readonly url: string;
}

/** Display text of a delivery. It has only the host of the URL, because a URL can contain the receiver's secret. */
export function deliveredText(delivery: DeliveryTarget): string {
  return `${routeText(delivery)}: delivered`;
}

export function givenUpText(
  delivery: DeliveryTarget,
  endpoint: string,
  tries: number,
  reason: string,
): string {
  const count = tries === 0 ? 'untried' : `after ${tries} ${tries === 1 ? 'try' : 'tries'}`;
  return `**${routeText(delivery)}: given up** ${count}: ${reason}; \`sluice webhooks replay ${endpoint}\` retries it`;
}

function routeText({ type, url }: DeliveryTarget): string {
  return `${type} to ${new URL(url).host}`;
}

/** Encrypts texts that are stored and decrypted later. `owner` names the row they belong to; both calls need the same. */
export interface TextCipher {
  encrypt(text: string, owner: string): string;
  /** Throws if the text was encrypted with a different key or for a different owner. */
  decrypt(encrypted: string, owner: string): string;
}

export const ENCRYPTED_PREFIX = 'sealed:';

/** Used if SLUICE_PAYLOAD_KEY is not set: texts are stored as they are, and decrypting an encrypted text fails. */
export const NO_ENCRYPTION: TextCipher = {
  encrypt: (text) => text,
  decrypt: (text, owner) => {
    if (!text.startsWith(ENCRYPTED_PREFIX)) return text;
    throw new Error(
      `data of ${owner} is encrypted, but SLUICE_PAYLOAD_KEY is not set: set the key that encrypted it`,
    );
  },
};

/** The event type for a new status; null for `requested` and `preparing`, which have no event. */
export function eventOfStatus(status: WithdrawalStatus): WebhookEventType | null {
  return status === 'requested' || status === 'preparing' ? null : `withdrawal.${status}`;
}

export function topicsOf(type: WebhookEventType): readonly WebhookTopic[] {
  return [type, `${familyOf(type)}.*`, '*'];
}

function familyOf(type: WebhookEventType): 'deposit' | 'withdrawal' | 'payment' | 'alert' {
  return type.slice(0, type.indexOf('.')) as ReturnType<typeof familyOf>;
}
