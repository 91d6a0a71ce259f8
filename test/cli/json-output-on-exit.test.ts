import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { jsonOf, startDevelopment } from '../support/cli.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'sluice-failure-line-'));
const missing = join(directory, 'no-such-program');

vi.setConfig({ testTimeout: 180_000 });
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs what an npm script runs, and gives its exit code, the last line of stdout as JSON, and stderr. */
async function runScript(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [join(ROOT, 'scripts/run.mjs'), ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, last: JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as unknown, stderr };
}

test.each(['demo', 'dev'])('%s --json ends with one object when the bootstrap fails', async (command) => {
  const ended = await runScript(['devkit/main.ts', command, '--json'], { TEMPORAL_CLI_PATH: missing });
  expect(ended.code).toBe(1);
  const message = `TEMPORAL_CLI_PATH=${missing} is not an executable file`;
  expect(ended.last).toEqual({ ok: false, error: { code: 'BootstrapFailed', message } });
  expect(ended.stderr).toContain(message);
});

test('demo --json ends with one object when a service cannot start', async () => {
  const env = { HOME: process.env.HOME, TEMPORAL_CLI_PATH: process.execPath };
  const ended = await startDevelopment(['demo', '--json'], { cwd: directory, env }).ended;
  expect(ended.code).toBe(1);
  expect(jsonOf(ended)).toMatchObject({
    ok: false,
    error: { code: 'Error', message: expect.stringMatching(/^temporal ended before it was ready/) },
  });
});

test('a program that a signal ended still prints a last line', async () => {
  const program = join(directory, 'killed.ts');
  writeFileSync(program, `process.kill(process.pid, 'SIGKILL');`);
  const ended = await runScript(['--no-temporal', relative(ROOT, program), '--json']);
  expect(ended.code).toBe(137);
  expect(ended.last).toMatchObject({ ok: false, error: { code: 'ProgramFailed' } });
});
