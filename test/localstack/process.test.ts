import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { ManagedProcess } from '../../devkit/localstack/process.ts';
import { nodeProgram } from '../../devkit/localstack/program.ts';

const dir = mkdtempSync(join(tmpdir(), 'sluice-process-'));
const module = fileURLToPath(new URL('../../devkit/localstack/process.ts', import.meta.url));

function node(
  name: string,
  script: string,
  ready: () => Promise<boolean>,
  readyTimeoutMs = 30_000,
): ManagedProcess {
  return new ManagedProcess({
    name,
    command: process.execPath,
    args: ['-e', script],
    logFile: join(dir, `${name}.log`),
    ready,
    readyTimeoutMs,
    stopTimeoutMs: 300,
  });
}

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a process that ends before it is ready fails with the end of its log', async () => {
  const broken = node('broken', 'console.error("no such setting"); process.exit(2)', async () => false);
  await expect(broken.start()).rejects.toThrow(
    /broken ended before it was ready \(exit code 2\).*\n.*no such setting/s,
  );
});

test('a process that is never ready is killed', async () => {
  const slow = node('slow', 'setInterval(() => {}, 1000)', async () => false, 200);
  await expect(slow.start()).rejects.toThrow(/slow was not ready within \d+ ms/);
  expect(slow.running).toBe(false);
});

test('an aborted start stops the started processes and throws the reason; a later start starts nothing', async () => {
  const stop = new AbortController();
  const slow = node('aborted', 'setInterval(() => {}, 1000)', () => new Promise(() => undefined));
  const starting = slow.start(stop.signal);
  expect(alive(slow.pid ?? 0)).toBe(true);
  stop.abort('SIGINT');
  await expect(starting).rejects.toBe('SIGINT');
  expect(slow.running).toBe(false);
  await expect(slow.start(stop.signal)).rejects.toBe('SIGINT');
  expect(slow.running).toBe(false);
});

test('a process that ignores SIGTERM is killed, and can be started again', async () => {
  const stubborn = node(
    'stubborn',
    'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)',
    async () => sleep(300, true),
  );
  await stubborn.start();
  const { pid } = stubborn;
  await stubborn.restart();
  expect(stubborn.pid).not.toBe(pid);
  await stubborn.stop();
  expect(stubborn.running).toBe(false);
});

test('children end when their parent is killed', async () => {
  const script = join(dir, 'parent.mts');
  writeFileSync(
    script,
    `import { ManagedProcess } from ${JSON.stringify(module)};
     const child = new ManagedProcess({ name: 'child', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'],
       logFile: ${JSON.stringify(join(dir, 'child.log'))}, ready: async () => true });
     await child.start();
     console.log(child.pid);
     setInterval(() => {}, 1000);`,
  );
  const { command, args } = nodeProgram(pathToFileURL(script));
  const parent = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (chunk) => resolve(Number(chunk))),
  );
  expect(alive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await expect.poll(() => alive(pid), { timeout: 50_000 }).toBe(false);
});
