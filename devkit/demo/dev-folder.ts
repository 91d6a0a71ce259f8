import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DEV_FILE, readDevFile } from '../../src/cli/dev-file.ts';
import { UsageError } from '../../src/cli/exit.ts';

/** Contains the id of the process that runs `npm run dev` in a folder. */
const DEV_PID_FILE = '.sluice/dev.pid';

/**
 * Locks `directory` for this process, because its keys, logs and dev file belong to one stack. Deletes the lock and the dev file of a run
 * that was killed. The returned function removes the lock. Throws UsageError if another running process has locked the folder.
 */
export function lockFolder(directory: string = process.cwd()): () => void {
  const file = join(directory, DEV_PID_FILE);
  mkdirSync(dirname(file), { recursive: true });
  const holder = holderOf(file);
  if (holder !== null && isAlive(holder)) throw lockedError(directory, holder);
  if (holder !== null) rmSync(file, { force: true });
  try {
    writeFileSync(file, `${process.pid}\n`, { flag: 'wx' });
  } catch (error) {
    // Another process created the file at the same time.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw lockedError(directory, holderOf(file));
  }
  rmSync(join(directory, DEV_FILE), { force: true });
  return () => {
    if (holderOf(file) === process.pid) rmSync(file, { force: true });
  };
}

function holderOf(file: string): number | null {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}

/** True if another process has this id. EPERM means that it belongs to another user. */
function isAlive(pid: number): boolean {
  // In a restarted container, the id in the file can be the id of this process.
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function lockedError(directory: string, pid: number | null): UsageError {
  const { apiUrl = 'not started yet' } = readDevFile(directory);
  return new UsageError(
    [
      `"npm run dev" runs in this folder already (process ${pid ?? 'unknown'}, API ${apiUrl})`,
      `stop it, or use another clone; if no such process runs, delete ${DEV_PID_FILE}`,
    ].join(': '),
  );
}
