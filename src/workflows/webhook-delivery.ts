import {
  ActivityFailure,
  continueAsNew,
  isCancellation,
  rootCause,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { DeliveryLine, Patience } from '../domain/webhook.ts';
import { deliverActivity, giveUpDelivery, nextDelivery } from './activity-proxies.ts';
import { LINE_BREAK } from './details.ts';
import { wakeDelivery } from './messages.ts';

/** Number of events in the current details; the newest event is last. */
const MAX_LISTED_EVENTS = 10;

export interface WebhookDeliveryInput extends DeliveryLine {
  readonly patience: Patience;
}

/**
 * Delivers a line of events to one endpoint in order: each event waits until the earlier events are delivered or given
 * up. A signal wakes the run for new events. PostgreSQL stores the outbox, so a lost run loses no event, and a second
 * run has nothing to deliver.
 */
export async function webhookDelivery({ patience, ...line }: WebhookDeliveryInput): Promise<void> {
  const deliver = deliverActivity(patience);
  const results: string[] = [];
  let isWoken = false;
  setHandler(wakeDelivery, () => {
    isWoken = true;
  });
  do {
    isWoken = false;
    for (let key = await nextDelivery(line); key !== null; key = await nextDelivery(line)) {
      try {
        // An activity of an older worker returns no value.
        const end: string | null | undefined = await deliver(key, patience);
        results.push(end ?? `${key.event}: the delivery has ended`);
      } catch (error) {
        if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
        await giveUpDelivery(key);
        results.push(`${key.event}: the delivery is given up: ${rootCause(error) ?? 'unknown cause'}`);
      }
      setCurrentDetails(results.slice(-MAX_LISTED_EVENTS).join(LINE_BREAK));
      if (workflowInfo().continueAsNewSuggested)
        await continueAsNew<typeof webhookDelivery>({ patience, ...line });
    }
  } while (isWoken);
}
