import type { AlertKind } from '../domain/alerts.ts';
import { isDomainError, messageOf } from '../domain/errors.ts';
import type { ExplorerSettings } from '../domain/explorer.ts';
import {
  type DeliveryKey,
  type DeliveryLine,
  deliveredText,
  givenUpText,
  type Patience,
  waitAfter,
} from '../domain/webhook.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { DueDelivery } from '../ledger/webhooks/deliveries.ts';
import { retryLater } from '../settlement/state.ts';
import { ConnectionLimiter } from '../webhooks/connection-limits.ts';
import { type DeliveryResponse, OwnFault, type WebhookSender } from '../webhooks/sender.ts';
import { signedHeaders, withLinks } from '../webhooks/signature.ts';

export interface WebhookDeps {
  readonly ledger: Pick<Ledger, 'webhooks' | 'deliveries' | 'alerts'>;
  readonly sender: WebhookSender;
  readonly explorer: ExplorerSettings;
  /** Limit on concurrent tries of this process, shared between endpoints by {@link ConnectionLimiter}. */
  readonly triesAtOnce: number;
}

/** Result of one try. `unsent`: a fault of Sluice prevented the request, so it does not count as a try. */
type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'unsent'; readonly reason: string };

const HTTP_GONE = 410;
const GONE_REASON = 'the receiver answered 410 Gone';
const MAX_RETRY_AFTER_MS = 3_600_000;
/** Fixed interval, because a fault of Sluice needs an operator. */
const OWN_FAULT_RETRY_MS = 60_000;
/** Receivers that follow Standard Webhooks reject a timestamp that differs by more than this. */
const CLOCK_TOLERANCE_MS = 300_000;
const UNSENT_ALERT: AlertKind = 'webhook_unsent';

/** Database steps of the workflow. Each is idempotent. */
export function createDeliverySteps({ deliveries }: Pick<Ledger, 'deliveries'>) {
  return {
    nextDelivery: (line: DeliveryLine): Promise<DeliveryKey | null> => deliveries.nextInLine(line),

    /** Stores the event as a dead letter, unless it has been delivered. */
    giveUpDelivery: (key: DeliveryKey): Promise<void> => deliveries.giveUp(key),
  };
}

export function createWebhookActivities(deps: WebhookDeps) {
  const limiter = new ConnectionLimiter(deps.triesAtOnce);
  return {
    /**
     * Sends the event once, with the same event id at every try; throws to be retried. Returns a summary for operators,
     * or null if the delivery had already ended. Only a fault of the endpoint counts as a try, and the last try makes
     * the event a dead letter. A fault of Sluice raises an alert and is retried until it is fixed. Without free
     * capacity, nothing is sent and no try is counted.
     */
    async deliver(key: DeliveryKey, patience: Patience): Promise<string | null> {
      const turn = limiter.take(key.endpoint);
      if (turn.kind === 'full')
        throw retryLater(
          'WebhookBusy',
          'too many other deliveries to this endpoint are in progress',
          turn.retryInMs,
        );
      try {
        return await tryOnce(deps, key, patience);
      } finally {
        turn.release();
      }
    },
  };
}

async function tryOnce(deps: WebhookDeps, key: DeliveryKey, patience: Patience): Promise<string | null> {
  const { webhooks, deliveries, alerts } = deps.ledger;
  const due = await deliveries.findDue(key);
  if (due === null) return null;
  const giveUp = async (tryCount: number, reason: string): Promise<string> => {
    await deliveries.giveUp(key, reason);
    return givenUpText(due, key.endpoint, tryCount, reason);
  };
  if (due.disabledBecause !== null) return giveUp(due.attempts, due.disabledBecause);
  const outcome = await send(deps, key.endpoint, due);
  if (outcome.kind === 'unsent') return reportOwnFault(deps, key, outcome.reason);
  await alerts.close(UNSENT_ALERT, key.endpoint);
  if (outcome.kind === 'delivered') {
    await deliveries.markDelivered(key);
    return deliveredText(due);
  }
  const reason = outcome.kind === 'gone' ? GONE_REASON : outcome.reason;
  const tries = await deliveries.recordFailure(key, reason);
  if (outcome.kind === 'gone') await webhooks.disable(key.endpoint, reason);
  if (tries === null) return null;
  if (outcome.kind === 'gone' || tries >= patience.attempts) return giveUp(tries, reason);
  // A Retry-After can only lengthen the wait: a shorter one would use up all tries at once.
  const requestedWaitMs = Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  throw retryLater('WebhookNotDelivered', reason, Math.max(requestedWaitMs, waitAfter(tries, patience)));
}

async function reportOwnFault({ ledger }: WebhookDeps, key: DeliveryKey, reason: string): Promise<never> {
  const { endpoint: subject, event } = key;
  const message = `Sluice cannot send events to webhook ${subject} because of a fault of Sluice itself: ${reason}`;
  await ledger.alerts.raise({ kind: UNSENT_ALERT, subject, message, details: { event } });
  throw retryLater('WebhookNotSent', reason, OWN_FAULT_RETRY_MS);
}

/** Signs and sends one request. Throws NotFound if the endpoint was deleted. */
async function send(
  { ledger: { webhooks }, sender, explorer }: WebhookDeps,
  endpoint: string,
  { id, url, body: facts }: DueDelivery,
): Promise<DeliveryOutcome> {
  const at = new Date();
  const body = withLinks(facts, explorer);
  let headers: Readonly<Record<string, string>>;
  try {
    headers = signedHeaders(id, at, body, await webhooks.secretsOf(endpoint));
  } catch (error) {
    if (isDomainError(error)) throw error;
    return { kind: 'unsent', reason: messageOf(error) };
  }
  try {
    return outcomeOf(await sender.post(url, headers, body), at);
  } catch (error) {
    const reason = messageOf(error);
    return error instanceof OwnFault
      ? { kind: 'unsent', reason }
      : { kind: 'failed', reason, retryAfterMs: null };
  }
}

/** `at`: the timestamp in the signature, by our clock. */
function outcomeOf({ status, retryAfterMs, date }: DeliveryResponse, at: Date): DeliveryOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === HTTP_GONE) return { kind: 'gone' };
  const reason = `the receiver answered ${status}`;
  const clockDifferenceMs = date === null ? 0 : Math.abs(date.getTime() - at.getTime());
  if (status < 400 || status >= 500 || clockDifferenceMs <= CLOCK_TOLERANCE_MS)
    return { kind: 'failed', reason, retryAfterMs };
  return {
    kind: 'unsent',
    reason: `${reason}, and its clock differs from ours by ${Math.round(clockDifferenceMs / 1_000)} seconds`,
  };
}

export type DeliverySteps = ReturnType<typeof createDeliverySteps>;
export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
