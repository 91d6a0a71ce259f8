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
import { notYet } from '../settlement/state.ts';
import { ConnectionLimiter } from '../webhooks/connection-limits.ts';
import { type DeliveryResponse, OwnFault, type WebhookSender } from '../webhooks/sender.ts';
import { signedHeaders, withLinks } from '../webhooks/signature.ts';

export interface WebhookDeps {
  readonly ledger: Pick<Ledger, 'webhooks' | 'deliveries' | 'alerts'>;
  readonly sender: WebhookSender;
  readonly explorer: ExplorerSettings;
  /** Concurrent tries of this process, shared between endpoints: see {@link ConnectionLimiter}. */
  readonly triesAtOnce: number;
}

/** Result of one try. `unsent`: our own fault, not counted as a try. */
type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'unsent'; readonly reason: string };

const GONE = 410;
const GONE_TEXT = 'the receiver answered 410 Gone';
const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** Milliseconds. An operator fixes our own faults, and by then all waiting events are late. */
const OWN_RETRY_MS = 60_000;
/** Milliseconds. Receivers that follow Standard Webhooks reject older or newer timestamps. */
const CLOCK_TOLERANCE_MS = 300_000;
const UNSENT: AlertKind = 'webhook_unsent';

/** Database steps of the workflow. Each is idempotent. */
export function createDeliverySteps({ deliveries }: Pick<Ledger, 'deliveries'>) {
  return {
    /** The next event to deliver, or null if there is none. */
    nextDelivery: (line: DeliveryLine): Promise<DeliveryKey | null> => deliveries.nextOf(line),

    /** Makes the event a dead letter, unless it was delivered after all. */
    giveUpDelivery: (key: DeliveryKey): Promise<void> => deliveries.giveUp(key),
  };
}

/** Sends events. A repeated try sends the same event id. */
export function createWebhookActivities(deps: WebhookDeps) {
  const limiter = new ConnectionLimiter(deps.triesAtOnce);
  return {
    /**
     * Tries once; throws to be retried. Returns a summary for operators, or null for a finished delivery. Only a fault
     * of the receiver or its URL counts as a try, and the last one makes a dead letter. Our own faults raise an alert
     * and are retried until fixed. Without free capacity nothing is sent, and no try is counted.
     */
    async deliver(key: DeliveryKey, patience: Patience): Promise<string | null> {
      const turn = limiter.take(key.endpoint);
      if (turn.kind === 'full')
        throw notYet('WebhookBusy', 'other events are on their way to this endpoint', turn.retryInMs);
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
  const due = await deliveries.due(key);
  if (due === null) return null;
  const giveUp = async (tries: number, reason: string): Promise<string> => {
    await deliveries.giveUp(key, reason);
    return givenUpText(due, key.endpoint, tries, reason);
  };
  if (due.disabledBecause !== null) return giveUp(due.attempts, due.disabledBecause);
  const outcome = await send(deps, key.endpoint, due);
  if (outcome.kind === 'unsent') return unsent(deps, key, outcome.reason);
  await alerts.close(UNSENT, key.endpoint);
  if (outcome.kind === 'delivered') {
    await deliveries.delivered(key);
    return deliveredText(due);
  }
  const reason = outcome.kind === 'gone' ? GONE_TEXT : outcome.reason;
  const tries = await deliveries.failed(key, reason);
  if (outcome.kind === 'gone') await webhooks.disable(key.endpoint, reason);
  if (tries === null) return null;
  if (outcome.kind === 'gone' || tries >= patience.attempts) return giveUp(tries, reason);
  // A receiver cannot ask for a sooner try, which would use up all tries at once.
  const asked = Math.min(outcome.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
  throw notYet('WebhookNotDelivered', reason, Math.max(asked, waitAfter(tries, patience)));
}

async function unsent({ ledger }: WebhookDeps, key: DeliveryKey, reason: string): Promise<never> {
  const { endpoint: subject, event } = key;
  const message = `Sluice cannot send to this webhook because of a fault of its own: ${reason}`;
  await ledger.alerts.raise({ kind: UNSENT, subject, message, details: { event } });
  throw notYet('WebhookNotSent', reason, OWN_RETRY_MS);
}

/** Sends one request. Throws NotFound if the endpoint was deleted. */
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
    return judge(await sender.post(url, headers, body), at);
  } catch (error) {
    const reason = messageOf(error);
    return error instanceof OwnFault
      ? { kind: 'unsent', reason }
      : { kind: 'failed', reason, retryAfterMs: null };
  }
}

/** Maps the answer to a result. `at`: our time in the signature. */
function judge({ status, retryAfterMs, date }: DeliveryResponse, at: Date): DeliveryOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === GONE) return { kind: 'gone' };
  const reason = `the receiver answered ${status}`;
  const apartMs = date === null ? 0 : Math.abs(date.getTime() - at.getTime());
  if (status < 400 || status >= 500 || apartMs <= CLOCK_TOLERANCE_MS)
    return { kind: 'failed', reason, retryAfterMs };
  return {
    kind: 'unsent',
    reason: `${reason}, and its clock and ours are ${Math.round(apartMs / 1_000)} s apart`,
  };
}

export type DeliverySteps = ReturnType<typeof createDeliverySteps>;
export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
