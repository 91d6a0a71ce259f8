import type { Client } from '@temporalio/client';
import { type RescanOrder, rescanRun } from '../../domain/rescan.ts';
import { startJoined } from './start-joined.ts';

/**
 * Starts a run that reads committed blocks again; one of the same slots that runs is joined.
 *
 * @throws ServiceError of the Temporal client when the server does not answer in 10 s
 */
export async function startRescan(client: Client, order: RescanOrder): Promise<void> {
  await startJoined(client, { type: 'depositRescan', ...rescanRun(order) });
}
