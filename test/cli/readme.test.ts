import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { devFacts, writeDevFile } from '../../src/localstack/dev-file.ts';
import { type TestStack, testStack } from '../support/stack.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const TSX = import.meta.resolve('tsx');
const HAS_CURL = spawnSync('curl', ['--version']).status === 0;
const run = promisify(execFile);

/** The code blocks of "The first withdrawal", as a reader would copy them. */
const section = readFileSync(join(ROOT, 'README.md'), 'utf8').split('## The first withdrawal')[1] ?? '';
const [curl = '', typescript = '', commandLine = ''] = [...section.matchAll(/```\w+\n(.*?)```/gs)].map(
  ([, code = '']) => code,
);

let live: TestStack;
/** A place outside the repository, with `.sluice/dev.json` of a running stack. */
let directory: string;

beforeAll(async () => {
  live = await testStack();
  directory = mkdtempSync(join(tmpdir(), 'sluice-readme-'));
  writeDevFile(devFacts(live.stack), join(directory, '.sluice/dev.json'));
});
// The package is built, and each program is a process of its own, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000 });
afterAll(async () => {
  await live?.close();
  if (directory !== undefined) rmSync(directory, { recursive: true });
});

test.skipIf(!HAS_CURL)('the curl lines pay the first withdrawal', async () => {
  const { stdout } = await run('sh', ['-c', curl], { cwd: directory });
  const answers = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(answers).toMatchObject([
    { id: 'first', status: 'requested' },
    { id: 'first', amount: '1500000000' },
  ]);
  expect((await live.sluice.waitForFinal('first')).status).toBe('finalized');
});

test('the TypeScript program pays the second through the built package, by its name and with its types', async () => {
  const installed = join(directory, 'node_modules/sluice');
  await run(process.execPath, [TSC, '-p', 'tsconfig.build.json', '--outDir', join(installed, 'dist')], {
    cwd: ROOT,
  });
  cpSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  mkdirSync(join(directory, 'node_modules/@types'));
  for (const types of ['@types/node', 'undici-types'])
    cpSync(join(ROOT, 'node_modules', types), join(directory, 'node_modules', types), { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, '.sluice/second.ts'), typescript);

  const options = ['--noEmit', '--strict', '--types', 'node', '--target', 'es2023', '--module', 'nodenext'];
  await run(process.execPath, [TSC, ...options, '.sluice/second.ts'], { cwd: directory });
  const { stdout } = await run(process.execPath, ['--import', TSX, '.sluice/second.ts'], { cwd: directory });
  const { attempts } = await live.sluice.get('second');
  expect(stdout.trim().split('\n').slice(-2)).toEqual(['finalized', attempts[0]?.signature]);
});

test('the command line pays the third and waits for it', async () => {
  const env = { ...process.env, SLUICE_API_URL: live.stack.apiUrl, SLUICE_API_KEY: live.stack.apiKey };
  const { stdout } = await run('sh', ['-c', commandLine], { cwd: ROOT, env });
  expect(stdout).toContain('third  finalized');
});
