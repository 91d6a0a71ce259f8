import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { DevFacts } from '../../devkit/localstack/dev-file.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { SluiceClient, type Withdrawal } from '../../src/client/client.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase, type TestDatabase } from '../support/postgres.ts';
import { Terminal } from '../support/terminal.ts';
import { copyWorkingTree, npmEnvironment } from '../support/working-tree.ts';
import { commandsOf, programs, ROOT, readmeBlocks } from './readme-blocks.ts';

// The commands of the README, in its order, in a clone with a running `npm run dev`. `npm run demo` has demo.slow.test.ts.
// Programs start from their sources, which takes seconds on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const PATIENCE = { timeout: 120_000 };

const run = promisify(execFile);
const WEBHOOK_PORT = '4000';

let place: string;
let clone: string;
let terminal: Terminal;
let database: TestDatabase;
let dev: ChildProcess;
let facts: DevFacts;
let sluice: SluiceClient;

beforeAll(async () => {
  // In the repository, so that the clone can have hard links of its packages.
  mkdirSync(join(ROOT, '.sluice'), { recursive: true });
  place = mkdtempSync(join(ROOT, '.sluice/readme-'));
  clone = join(place, 'sluice');
  terminal = new Terminal(place, npmEnvironment());
  const [cloning = '', starting = ''] = commandsOf('Quick start').split('\n');
  await terminal.run(cloning.replace('<URL of this repository>', ROOT));
  await copyWorkingTree(clone);
  await run('cp', ['-al', join(ROOT, 'node_modules'), clone]);
  database = await freshDatabase();
  const { env } = await freshNamespace('readme');
  dev = startScript(starting, {
    ...env,
    DATABASE_URL: database.url,
    SLUICE_HTTP_PORT: String(await freePort()),
    SLUICE_X402_PORT: String(await freePort()),
  });
  const devFile = join(clone, '.sluice/dev.json');
  await vi.waitUntil(() => existsSync(devFile) || dev.exitCode !== null, { timeout: 240_000, interval: 200 });
  facts = JSON.parse(readFileSync(devFile, 'utf8')) as DevFacts;
  sluice = new SluiceClient({ baseUrl: facts.apiUrl, apiKey: facts.apiKey });
});

afterAll(async () => {
  terminal?.close();
  if (dev?.exitCode === null) {
    dev.kill('SIGTERM');
    await once(dev, 'close');
  }
  await database?.drop();
  if (place !== undefined) rmSync(place, { recursive: true });
});

test('the commands of the README pay a withdrawal, and pay it only once when the command is repeated', async () => {
  const [sample = ''] = readmeBlocks()
    .filter(({ heading, language }) => heading === 'Pay a withdrawal' && language === '')
    .map(({ code }) => code);
  const [status = '', pays = ''] = sample.split('\n');
  for (const printed of [await runSection('Pay a withdrawal'), await runSection('Pay a withdrawal')])
    expect(printed).toContain(`${status}\n${pays}\n`);
  expect((await sluice.get('first')).attempts).toHaveLength(1);
});

test('the commands of the README list a deposit as final', async () => {
  await runSection('Take a deposit');
  const listing = commandsOf('Take a deposit').trim().split('\n').at(-1) ?? '';
  await expect.poll(() => terminal.run(listing), PATIENCE).toMatch(/ final +5000000 +SOL +user-17 /);
});

test('the gateway of the README requests a payment and sells', async () => {
  const status = async () => (await fetch(`${facts.sales?.gatewayUrl}/hello`)).status;
  await expect.poll(status, PATIENCE).toBe(402);
  const printed = await runSection('Sell an API');
  expect(printed).toMatch(/^HTTP\/1.1 402 /m);
  expect(printed).toMatch(/^status +200$/m);
  expect(printed).toContain('{"hello":"world"}');
});

test('the API of the README pays a withdrawal', async () => {
  const answers = (await runSection('HTTP')).trim().split('\n');
  expect(answers.map((answer) => (JSON.parse(answer) as Withdrawal).id)).toEqual(['second', 'second']);
  expect((await sluice.waitForFinal('second')).status).toBe('finalized');
});

test('the service of the README pays, reads the feed and receives a webhook', async () => {
  const port = String(await freePort());
  await terminal.run(commandsOf('TypeScript, webhooks and the feed').replace(WEBHOOK_PORT, port));
  for (const [name, program] of programs())
    writeFileSync(join(place, 'my-service', name), program.replace(WEBHOOK_PORT, port));
  const service = spawn(process.execPath, ['service.mjs'], { cwd: join(place, 'my-service') });
  onTestFinished(() => void service.kill());
  let printed = '';
  for (const stream of [service.stdout, service.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const expected = /withdrawal finalized\n[\s\S]*deposit \d+ final user-17 5000000 SOL\n/;
  await expect.poll(() => printed, PATIENCE).toMatch(expected);
  await terminal.run('cd ../sluice');
  await runSection('Take a deposit');
  await expect.poll(() => printed, PATIENCE).toContain('webhook deposit.final {');
});

test('the official x402 client buys with the commands of the README', async () => {
  expect(await terminal.run('cd ../my-service && node buy.mjs')).toContain('{"hello":"world"}');
});

test('no command of the README makes a later command install packages again', async () => {
  expect(await terminal.run('cd ../sluice && npm run -s sluice -- --version')).toMatch(/^\d+\.\d+\.\d+/);
  expect(terminal.stderr).not.toContain('installing packages');
});

function runSection(heading: string): Promise<string> {
  return terminal.run(commandsOf(heading));
}

/** Starts what `npm run <name>` starts, without npm, which would not pass on a signal. */
function startScript(command: string, settings: NodeJS.ProcessEnv): ChildProcess {
  const { scripts } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const [program, ...args] = scripts[command.replace('npm run ', '')]?.split(' ') ?? [];
  if (program !== 'node') throw new Error(`${command} starts ${program}, not node`);
  const env = { ...npmEnvironment(), ...settings };
  return spawn(process.execPath, args, { cwd: clone, env, stdio: 'ignore' });
}
