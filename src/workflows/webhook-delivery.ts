import {
  ActivityFailure,
  continueAsNew,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { DeliverySteps, WebhookActivities } from '../activities/webhooks.ts';
import type { DeliveryLine, Patience } from '../domain/webhook.ts';
import { wakeDelivery } from './messages.ts';
import { deliverOptions, RECORD } from './options.ts';

const onRecord = (summary: string) => proxyLocalActivities<DeliverySteps>({ ...RECORD, summary });

const { nextDelivery } = onRecord('find what waits');
const { giveUpDelivery } = onRecord('make it a dead letter');

export interface WebhookDeliveryInput extends DeliveryLine {
  readonly patience: Patience;
}

/**
 * Tells one endpoint the events of one thing, in their order: none is sent before the earlier ones were delivered or given up.
 * Woken by signal when there are more. Postgres is the record, so a lost run loses nothing and a second one finds nothing to do.
 */
export async function webhookDelivery({ patience, ...line }: WebhookDeliveryInput): Promise<void> {
  const { deliver } = proxyActivities<WebhookActivities>(deliverOptions(patience));
  let woken = false;
  setHandler(wakeDelivery, () => {
    woken = true;
  });
  do {
    woken = false;
    for (let key = await nextDelivery(line); key !== null; key = await nextDelivery(line)) {
      try {
        await deliver(key, patience);
      } catch (error) {
        if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
        await giveUpDelivery(key);
      }
      if (workflowInfo().continueAsNewSuggested)
        await continueAsNew<typeof webhookDelivery>({ patience, ...line });
    }
  } while (woken);
}
