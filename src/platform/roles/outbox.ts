import pLimit from 'p-limit';
import type { DeliveryLine } from '../../domain/webhook.ts';
import type { Deliveries } from '../../ledger/webhooks/deliveries.ts';
import { keepDoing } from '../interval.ts';

const EVERY_MS = 500;
const FORGOTTEN_EVERY_MS = 3_600_000;
const KEPT_DAYS = 30;
const AT_ONCE = 16;

/** Wakes or starts the workflow of a line. */
export type Wake = (line: DeliveryLine) => Promise<void>;

/**
 * Hands every event that waits in the outbox to its workflow, and answers to how many lines that was. A line is marked only after its
 * workflow was woken: a process that ends between the two leaves it to the next one, which wakes a run that finds nothing to do.
 */
export async function handOver(deliveries: Deliveries, wake: Wake): Promise<number> {
  const lines = await deliveries.unhanded();
  await pLimit(AT_ONCE).map(lines, async (line) => {
    await wake(line);
    await deliveries.markHanded(line);
  });
  return lines.length;
}

/**
 * {@link handOver} on a rhythm, one round after the other, and once an hour forgets what all have heard long ago. Failures are told to
 * `onFailure` and left to the next round. Call the answer to stop.
 */
export function keepHandingOver(
  deliveries: Deliveries,
  wake: Wake,
  onFailure: (error: unknown) => void,
): () => void {
  let busy = false;
  const stopHanding = keepDoing(
    EVERY_MS,
    async () => {
      if (busy) return;
      busy = true;
      try {
        while ((await handOver(deliveries, wake)) > 0);
      } finally {
        busy = false;
      }
    },
    onFailure,
  );
  const stopForgetting = keepDoing(
    FORGOTTEN_EVERY_MS,
    async () => {
      while ((await deliveries.forget(KEPT_DAYS)) > 0);
    },
    onFailure,
  );
  return () => {
    stopHanding();
    stopForgetting();
  };
}
