import type { Client } from '@temporalio/client';
import { type RescanOrder, rescanRun } from '../../domain/rescan.ts';
import { startJoined } from './starts.ts';

/**
 * Starts a rescan of committed blocks, or joins a running one of the same slots.
 *
 * @throws ServiceError of the Temporal client if the server does not answer in 10 s
 */
export async function startRescan(client: Client, order: RescanOrder): Promise<void> {
  await startJoined(client, { type: 'depositRescan', ...rescanRun(order) });
}
