import { proxyActivities } from '@temporalio/workflow';
import type { WatchActivities } from '../activities/watches.ts';
import { WATCH } from './options.ts';

const { restartOrphans } = proxyActivities<WatchActivities>({ ...WATCH, summary: 'start what has no run' });
const { buryRefused } = proxyActivities<WatchActivities>({
  ...WATCH,
  summary: 'prove dead what was refused',
});
const { startDueAudits } = proxyActivities<WatchActivities>({
  ...WATCH,
  summary: 'start audits that are due',
});

/**
 * Every minute, by schedule: each settlement that Postgres has not finished and that has no run is started again,
 * what was refused is freed for the next round, and audits that the record waits for begin. None of the three keeps another from its turn.
 */
export async function orphans(): Promise<{ readonly restarted: number }> {
  const rounds = [restartOrphans(), buryRefused(), startDueAudits()] as const;
  await Promise.allSettled(rounds);
  const [restarted] = await Promise.all(rounds);
  return restarted;
}
