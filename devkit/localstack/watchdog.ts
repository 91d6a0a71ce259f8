import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./watchdog-process.mjs', import.meta.url));

let watchdog: ChildProcess | undefined;

function send(line: string): void {
  if (watchdog === undefined) {
    watchdog = spawn(process.execPath, [PROGRAM], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    watchdog.unref();
    watchdog.stdin?.on('error', () => undefined);
    (watchdog.stdin as unknown as { unref(): void }).unref();
  }
  watchdog.stdin?.write(`${line}\n`);
}

/** If this process ends, the watchdog sends `signal` to the process group `pid`, and SIGKILL three seconds later. */
export function guard(pid: number, signal: NodeJS.Signals): void {
  send(`+${pid} ${signal}`);
}

/** Must be called when the process group `pid` has ended, because the system can reuse its number. */
export function unguard(pid: number): void {
  send(`-${pid}`);
}
