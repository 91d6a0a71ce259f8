import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { DeliveryKey, DeliveryLine } from '../domain/webhook.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Answer, WebhookSender } from '../webhooks/sender.ts';
import { signedHeaders } from '../webhooks/signature.ts';

export interface WebhookDeps {
  readonly ledger: Pick<Ledger, 'webhooks' | 'deliveries'>;
  readonly sender: WebhookSender;
}

const GONE = 410;
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** What the workflow asks of the record. Every step may be repeated. */
export function createDeliverySteps({ deliveries }: Pick<Ledger, 'deliveries'>) {
  return {
    /** The event of the line that is to be delivered now; null where all are over. */
    async nextDelivery(line: DeliveryLine): Promise<DeliveryKey | null> {
      const sequence = await deliveries.nextOf(line);
      return sequence === null ? null : { endpoint: line.endpoint, sequence: sequence.toString() };
    },

    /** Its tries are over: it is a dead letter, unless it was delivered after all. */
    giveUpDelivery: (key: DeliveryKey): Promise<void> => deliveries.giveUp(key),
  };
}

/** The tries themselves. A repeated one sends the same event id. */
export function createWebhookActivities({ ledger, sender }: WebhookDeps) {
  const { webhooks, deliveries } = ledger;

  return {
    /**
     * Tries once; throws where it must be tried again. Does nothing for one that is over. Only what the receiver does, or its URL, is
     * on record as a failed try: what we cannot do ourselves, such as open its secret, is not.
     */
    async deliver(key: DeliveryKey): Promise<void> {
      const due = await deliveries.due(key);
      if (due === null) return;
      if (due.disabledBecause !== null) return deliveries.giveUp(key, due.disabledBecause);
      const { id, url, body } = due;
      const headers = signedHeaders(id, new Date(), body, await webhooks.secretsOf(key.endpoint));
      let answer: Answer;
      try {
        answer = await sender.post(url, headers, body);
      } catch (error) {
        throw await missed(key, error instanceof Error ? error.message : String(error), null);
      }
      const { status, retryAfterMs } = answer;
      if (status >= 200 && status < 300) return deliveries.delivered(key);
      if (status !== GONE) throw await missed(key, `the receiver answered ${status}`, retryAfterMs);
      await webhooks.disable(key.endpoint, 'the receiver answered 410 Gone');
      await deliveries.giveUp(key, 'the receiver answered 410 Gone');
    },
  };

  async function missed(
    key: DeliveryKey,
    why: string,
    retryAfterMs: number | null,
  ): Promise<ApplicationFailure> {
    await deliveries.failed(key, why);
    return ApplicationFailure.create({
      message: why,
      type: 'WebhookNotDelivered',
      category: ApplicationFailureCategory.BENIGN,
      ...(retryAfterMs === null ? {} : { nextRetryDelay: Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS) }),
    });
  }
}

export type DeliverySteps = ReturnType<typeof createDeliverySteps>;
export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
