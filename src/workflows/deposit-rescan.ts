import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DepositActivities } from '../activities/deposits.ts';
import type { RescanOrder } from '../domain/scan.ts';
import { RESCAN } from './options.ts';

const { rescan } = proxyActivities<DepositActivities>({ ...RESCAN, summary: 'read blocks again' });

/**
 * Reads committed blocks again, beside the scan, which waits for none of it. Runs under the id `deposit-rescan/<from>-<to>`, and
 * fails where no node shows the blocks for a day.
 */
export async function depositRescan(order: RescanOrder): Promise<{ readonly blocks: number }> {
  setCurrentDetails('reading; how far it is stands in the heartbeat of the pending activity');
  const end = await rescan(order);
  setCurrentDetails(
    `${end.blocks} blocks read again; what they lacked on record is an alert \`deposit_missed\``,
  );
  return end;
}
