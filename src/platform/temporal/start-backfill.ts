import type { Client } from '@temporalio/client';
import { type BackfillOrder, backfillRun } from '../../domain/backfill.ts';
import { startJoined } from './start-joined.ts';

/**
 * Starts a backfill, or joins a running one of the same order.
 *
 * @throws ServiceError of the Temporal client if the server does not answer in 10 s
 */
export async function startBackfill(client: Client, order: BackfillOrder): Promise<void> {
  await startJoined(client, { type: 'backfill', ...backfillRun(order) });
}
