import pLimit from 'p-limit';
import type { DeliveryLine } from '../../domain/webhook.ts';
import type { Deliveries } from '../../ledger/webhooks/deliveries.ts';
import { keepDoing } from '../interval.ts';

const EVERY_MS = 500;
const FORGOTTEN_EVERY_MS = 3_600_000;
const KEPT_DAYS = 30;
const AT_ONCE = 16;

export type Wake = (line: DeliveryLine) => Promise<void>;

/**
 * Wakes the workflow of each line with pending events; returns the number of lines. A line is marked after the
 * wake-up: if the process stops between the two, the workflow is woken twice, which is harmless.
 */
export async function handOver(deliveries: Deliveries, wake: Wake): Promise<number> {
  const lines = await deliveries.unhanded();
  await pLimit(AT_ONCE).map(lines, async (line) => {
    await wake(line);
    await deliveries.markHanded(line);
  });
  return lines.length;
}

/** Periodic {@link handOver}; deletes old delivered events hourly. `onFailure` gets errors. Returns a stop function. */
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
