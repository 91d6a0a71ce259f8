import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { CallTally } from '../tally.ts';

/** Process ids by name. */
export type Pids = Readonly<Record<string, number>>;

/**
 * CPU milliseconds, user and system, of each process with all its descendants, also those that have ended. Descendants are found by
 * their parent: a backend of PostgreSQL has a session and a process group of its own.
 */
export function cpuMs(processes: Pids): CallTally {
  const all = readProcesses();
  const treeTicks = (pid: number): number => {
    const ticks = all.ticks.get(pid) ?? 0;
    return (all.children.get(pid) ?? []).reduce((sum, child) => sum + treeTicks(child), ticks);
  };
  return Object.fromEntries(
    Object.entries(processes).map(([name, pid]) => [name, (1_000 * treeTicks(pid)) / ticksPerSecond]),
  );
}

// Places in /proc/<pid>/stat after the name of the program. Source: proc_pid_stat(5).
const PARENT = 1;
/** User and system time of the process, and of its children that have ended and were waited for. */
const TIMES = [11, 12, 13, 14];

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

function readProcesses() {
  const ticks = new Map<number, number>();
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const fields = /^\d+$/.test(name) ? fieldsOf(name) : null;
    if (fields === null) continue;
    const [pid, parent] = [Number(name), Number(fields[PARENT])];
    ticks.set(
      pid,
      TIMES.reduce((sum, field) => sum + Number(fields[field]), 0),
    );
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  return { ticks, children };
}

/** Null if the process has ended. */
function fieldsOf(pid: string): readonly string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}
