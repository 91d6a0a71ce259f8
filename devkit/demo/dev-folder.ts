import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DEV_FILE, readDevFile } from '../../src/cli/dev-file.ts';
import { UsageError } from '../../src/cli/exit.ts';

/** Holds the id of the process that runs `npm run dev` in a folder, from before its start to after its end. */
const DEV_PID_FILE = '.sluice/dev.pid';

/**
 * Takes `directory` for this process: one stack runs in a folder, for `sluice` there speaks to one, by keys and logs of that folder.
 * What a run that was killed left is taken over, and its dev file removed. The answer gives the folder back.
 *
 * @throws UsageError while another process that holds it lives
 */
export function holdFolder(directory: string = process.cwd()): () => void {
  const file = join(directory, DEV_PID_FILE);
  mkdirSync(dirname(file), { recursive: true });
  const holder = holderOf(file);
  if (holder !== null && isAlive(holder)) throw taken(directory, holder);
  if (holder !== null) rmSync(file, { force: true });
  try {
    writeFileSync(file, `${process.pid}\n`, { flag: 'wx' });
  } catch (error) {
    // Another process created the file at the same time.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw taken(directory, holderOf(file));
  }
  rmSync(join(directory, DEV_FILE), { force: true });
  return () => {
    if (holderOf(file) === process.pid) rmSync(file, { force: true });
  };
}

/** Null if the file has no process id. */
function holderOf(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}

/** True if another process has this id. A process of another user refuses the signal. */
function isAlive(pid: number): boolean {
  // A restarted container reuses process ids.
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function taken(directory: string, pid: number | null): UsageError {
  const { apiUrl = 'not up yet' } = readDevFile(directory);
  return new UsageError(
    [
      `"npm run dev" runs in this folder already (process ${pid ?? 'unknown'}, API ${apiUrl}), and "sluice" here speaks to it`,
      `stop it, or use another clone; if that process is none, remove ${DEV_PID_FILE}`,
    ].join(': '),
  );
}
