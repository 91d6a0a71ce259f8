import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** CPU seconds, user and system, of every process in the process group of each leader, with its children that have ended. */
export function cpuSeconds(leaders: readonly number[]): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    const fields = /^\d+$/.test(name) ? fieldsOf(name) : null;
    if (fields === null || !leaders.includes(Number(fields[PROCESS_GROUP]))) continue;
    for (const field of TIMES) ticks += Number(fields[field]);
  }
  return ticks / ticksPerSecond;
}

// Places in /proc/<pid>/stat after the name of the program. Source: proc_pid_stat(5).
const PROCESS_GROUP = 2;
const TIMES = [11, 12, 13, 14];

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Null if the process has ended. */
function fieldsOf(pid: string): readonly string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
