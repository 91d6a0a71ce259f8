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
 * Every minute, by schedule: restarts settlements without a run, proves unsigned attempts dead, starts due
 * audits. If one of them fails, the others still run.
 */
export async function orphans(): Promise<{ readonly restarted: number }> {
  const rounds = [restartOrphans(), buryRefused(), startDueAudits()] as const;
  await Promise.allSettled(rounds);
  const [restarted] = await Promise.all(rounds);
  return restarted;
}
