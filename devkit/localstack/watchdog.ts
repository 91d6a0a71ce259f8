import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./watchdog-process.mjs', import.meta.url));

let watchdog: ChildProcess | undefined;

function tell(line: string): void {
  if (watchdog === undefined) {
    watchdog = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    watchdog.unref();
    watchdog.stdin?.on('error', () => undefined);
    (watchdog.stdin as unknown as { unref(): void }).unref();
  }
  watchdog.stdin?.write(`${line}\n`);
}

/** From now on the process group `pid` gets `signal`, and SIGKILL three seconds later, when this process dies in any way. */
export function guard(pid: number, signal: NodeJS.Signals): void {
  tell(`+${pid} ${signal}`);
}

/** The process group `pid` has ended: its number may be given to somebody else. */
export function unguard(pid: number): void {
  tell(`-${pid}`);
}
