import { buryRefused, restartOrphans, startDueAudits } from './activity-proxies.ts';

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
