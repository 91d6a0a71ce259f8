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
  'alert.raised',
  'alert.closed',
] as const;

/**
 * Everything that is told. `deposit.` and `withdrawal.` are followed by the state that it has come to, `alert.` by whether it was raised
 * or closed. Words are public: never rename or reuse one.
 */
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number];

export const WEBHOOK_TOPICS = [...WEBHOOK_EVENTS, 'deposit.*', 'withdrawal.*', 'alert.*', '*'] as const;

/** What an endpoint may ask for: one event (`deposit.final`), all of a family (`deposit.*`), or everything (`*`). */
export type WebhookTopic = (typeof WEBHOOK_TOPICS)[number];

export const DELIVERY_STATES = ['waiting', 'delivered', 'dead'] as const;

/** Where the delivery of an event to an endpoint is; `dead` is tried no more until it is replayed. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** How long an event is tried, so that it can enter a history. */
export interface Patience {
  readonly firstRetryMs: number;
  /** Each wait is twice the one before, up to this. */
  readonly longestRetryMs: number;
  /** Tries of one event before it is dead: those that the receiver, or its URL, made fail. */
  readonly attempts: number;
}

/** How long to wait for the next try, in milliseconds, after so many that failed. */
export function waitAfter(tries: number, { firstRetryMs, longestRetryMs }: Patience): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.max(0, tries - 1));
}

/** The events of one thing, in the order in which they happened, for one endpoint. */
export interface DeliveryLine {
  readonly endpoint: string;
  /** `withdrawal/<id>`, `deposit/<id>` or `alert/<number>`. */
  readonly entity: string;
}

/** One event for one endpoint. The event by its own id: a record that was restored counts to its sequence again. */
export interface DeliveryKey {
  readonly endpoint: string;
  readonly event: string;
}

/** An event, and where it is sent. */
interface Told {
  readonly type: WebhookEventType;
  readonly url: string;
}

/** What a delivery came to, for people. The host alone: a URL may be all that a receiver asks for. */
export function deliveredText(told: Told): string {
  return `${wayOf(told)}: delivered`;
}

export function givenUpText(told: Told, endpoint: string, tries: number, reason: string): string {
  const count = tries === 0 ? 'untried' : `after ${tries} ${tries === 1 ? 'try' : 'tries'}`;
  return `**${wayOf(told)}: given up** ${count}: ${reason}; \`sluice webhooks replay ${endpoint}\` tries it again`;
}

function wayOf({ type, url }: Told): string {
  return `${type} to ${new URL(url).host}`;
}

/** Encrypts what must be read again; `of` says what it belongs to, and must be the same both times. */
export interface Seal {
  seal(text: string, of: string): string;
  /** Throws where it was sealed with a key that is not here, or for something else. */
  open(sealed: string, of: string): string;
}

/** How everything that is sealed with a key begins. */
export const SEALED = 'sealed:';

/** Where no key is set: secrets stand as they are, and one that was sealed with a key is refused. */
export const PLAIN_SEAL: Seal = {
  seal: (text) => text,
  open: (text, of) => {
    if (!text.startsWith(SEALED)) return text;
    throw new Error(`a secret of ${of} is encrypted, and SLUICE_PAYLOAD_KEY is not set`);
  },
};

/** What a customer hears of a withdrawal: not that it was asked for or is composed, which is nobody's news. */
export function eventOfStatus(status: WithdrawalStatus): WebhookEventType | null {
  return status === 'requested' || status === 'preparing' ? null : `withdrawal.${status}`;
}

/** The topics under which an event is asked for. */
export function topicsOf(type: WebhookEventType): readonly WebhookTopic[] {
  return [type, `${familyOf(type)}.*`, '*'];
}

function familyOf(type: WebhookEventType): 'deposit' | 'withdrawal' | 'alert' {
  if (type.startsWith('deposit.')) return 'deposit';
  return type.startsWith('alert.') ? 'alert' : 'withdrawal';
}
