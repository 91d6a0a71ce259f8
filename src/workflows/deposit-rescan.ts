import { CancellationScope, isCancellation, rootCause, setCurrentDetails } from '@temporalio/workflow';
import { type RescanOrder, type RescanResult, unreadText } from '../domain/rescan.ts';
import { recordRescanGivenUp, rescan } from './activity-proxies.ts';

/**
 * Scans committed blocks again, independently of the deposit scan. Runs under the id `deposit-rescan/<from>-<to>`, and
 * fails if no node returns the blocks for a day. Progress and result are stored in PostgreSQL.
 */
export async function depositRescan(order: RescanOrder): Promise<RescanResult> {
  setCurrentDetails('reading; `sluice scan list-rescans` shows the progress');
  try {
    const end = await rescan(order);
    setCurrentDetails(`${end.blocks} blocks read again: ${foundOf(end)}${unreadOf(end)}`);
    return end;
  } catch (error) {
    await CancellationScope.nonCancellable(() => recordRescanGivenUp({ ...order, trouble: reasonOf(error) }));
    throw error;
  }
}

function foundOf({ found }: RescanResult): string {
  if (found === 0) return 'nothing was missing on record';
  const deposits = found === 1 ? '1 deposit was' : `${found} deposits were`;
  return `${deposits} missing, and on record now; alerts \`deposit_missed\` tell those of addresses that were watched then`;
}

/** Older workers do not return `unread`. */
function unreadOf({ unread = [] }: Partial<RescanResult>): string {
  return unread.length === 0 ? '' : `; of closed gaps ${unreadText(unread)}`;
}

function reasonOf(error: unknown): string {
  return (isCancellation(error) ? undefined : rootCause(error)) ?? 'its run was cancelled';
}
