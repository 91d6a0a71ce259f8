import { proxyActivities } from '@temporalio/workflow';
import type { WatchActivities } from '../activities/watches.ts';
import { WATCH } from './options.ts';

const { restartOrphans } = proxyActivities<WatchActivities>({ ...WATCH, summary: 'start what has no run' });

/** Every minute, by schedule: each withdrawal and each nonce upkeep that Postgres has not finished and that has no run is started again. */
export async function orphans(): Promise<{ readonly restarted: number }> {
  return restartOrphans();
}
