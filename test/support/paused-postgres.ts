import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import type { LocalPostgres } from '../../devkit/localstack/postgres.ts';

/**
 * Stops the server and all its processes, as `docker pause` does: connections stay open without an answer. Ends with a call, and with
 * the test at the latest.
 */
export function pausePostgres({ process: server }: Pick<LocalPostgres, 'process'>): () => void {
  const pid = server?.pid;
  if (pid === undefined) throw new Error('PostgreSQL does not run here');
  const all = [pid];
  const resume = () => {
    for (const one of all.splice(0)) signal(one, 'SIGCONT');
  };
  onTestFinished(resume);
  // The parent first: a stopped parent forks no children.
  process.kill(pid, 'SIGSTOP');
  all.push(...childrenOf(pid));
  for (const one of all) signal(one, 'SIGSTOP');
  return resume;
}

/** A child may have ended since it was listed. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function childrenOf(parent: number): readonly number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []));
}
