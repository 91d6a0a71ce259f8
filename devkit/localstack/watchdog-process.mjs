// Stops the children of a program that ended without stopping them (a crash, SIGKILL).
// Each line on stdin adds or removes a process group: `+<pid> <signal>` or `-<pid>`. The end of stdin means that the program has ended.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** @type {Map<number, NodeJS.Signals>} */
const children = new Map();

/** @param {number} pid @param {NodeJS.Signals} signal */
function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number.parseInt(line.slice(1), 10);
  if (!(pid > 1)) continue;
  if (line.startsWith('+'))
    children.set(pid, /** @type {NodeJS.Signals} */ (line.split(' ')[1] ?? 'SIGTERM'));
  else children.delete(pid);
}

for (const [pid, signal] of children) signalGroup(pid, signal);
await sleep(children.size > 0 ? 3_000 : 0);
for (const pid of children.keys()) signalGroup(pid, 'SIGKILL');
