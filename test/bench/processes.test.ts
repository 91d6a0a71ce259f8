import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { cpuMs } from '../../bench/x402/processes.ts';

/** Starts a child in a session of its own, as PostgreSQL starts a backend. Prints the child's output, and "ended" after the child's end. */
const PARENT = `
  const { spawn } = require('node:child_process');
  const busy = 'while (process.cpuUsage().user < 300_000); console.log("busy"); process.stdin.resume().on("end", () => process.exit())';
  const child = spawn(process.execPath, ['-e', busy], { detached: true, stdio: 'inherit' });
  child.on('exit', () => { console.log('ended'); setInterval(() => 0, 1_000); });
`;
let parent: ChildProcess | undefined;
afterEach(() => parent?.kill('SIGKILL'));

it('counts a child with a process group of its own, while it runs and after its end', async () => {
  const running = spawn(process.execPath, ['-e', PARENT], { stdio: ['pipe', 'pipe', 'inherit'] });
  parent = running;
  const read = () => cpuMs({ tree: running.pid ?? 0 }).tree;
  await once(running.stdout, 'data');
  expect(read()).toBeGreaterThanOrEqual(300);
  running.stdin.end();
  await once(running.stdout, 'data');
  expect(read()).toBeGreaterThanOrEqual(300);
});
