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

/** From now on, when this process dies, the process group `pid` gets `signal`, and SIGKILL three seconds later. */
export function guard(pid: number, signal: NodeJS.Signals): void {
  send(`+${pid} ${signal}`);
}

/** Call it when the process group `pid` has ended, because the system may reuse its number. */
export function unguard(pid: number): void {
  send(`-${pid}`);
}
