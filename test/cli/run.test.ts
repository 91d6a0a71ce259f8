import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'sluice-run-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('a program that npm started gets one SIGTERM when npm is killed, and has time to stop', async () => {
  const program = join(directory, 'stack.ts');
  writeFileSync(
    program,
    `process.on('SIGTERM', () => {
       console.log('stopping');
       setTimeout(() => { console.log('stopped'); process.exit(0); }, 1500);
     });
     console.log('up');
     setInterval(() => {}, 1000);`,
  );
  const run = [join(ROOT, 'scripts/run.mjs'), '--no-temporal', relative(ROOT, program)];
  const { PATH, HOME } = process.env;
  const npm = spawn(
    process.execPath,
    ['-e', `require('child_process').spawn(process.execPath, ${JSON.stringify(run)}, { stdio: 'inherit' })`],
    { env: { PATH, HOME, npm_lifecycle_event: 'dev' }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const said: string[] = [];
  // The end of the pipe proves that every process with a write end has ended.
  for await (const line of createInterface({ input: npm.stdout })) {
    said.push(line);
    if (line === 'up') npm.kill('SIGKILL');
  }
  expect(said).toEqual(['up', 'stopping', 'stopped']);
}, 180_000);
