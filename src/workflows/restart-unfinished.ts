import { expireUnsigned, startDueAudits, startMissingRuns } from './activity-proxies.ts';

/**
 * Starts settlements that have no run, proves unsigned attempts dead, and starts due audits. A schedule starts it every
 * minute. If one of the three activities fails, the others still complete.
 */
export async function restartUnfinished(): Promise<{ readonly restarted: number }> {
  const rounds = [startMissingRuns(), expireUnsigned(), startDueAudits()] as const;
  await Promise.allSettled(rounds);
  const [restarted] = await Promise.all(rounds);
  return restarted;
}
