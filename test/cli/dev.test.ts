import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { DevFacts } from '../../devkit/localstack/dev-file.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { freePort } from '../../devkit/localstack/ports.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { type RunningCommand, startDevelopment } from '../support/cli.ts';
import { freshNamespace } from '../support/namespace.ts';
import { freshDatabase } from '../support/postgres.ts';
import { testEnvironment } from '../support/stack.ts';

vi.setConfig({ testTimeout: 240_000 });

/** A folder of its own, without a stack. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'sluice-dev-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  mkdirSync(join(path, '.sluice'));
  return path;
}

/** A database and a namespace on the servers that all tests share: `sluice dev` then starts neither PostgreSQL nor Temporal. */
async function shared(): Promise<NodeJS.ProcessEnv> {
  const [database, { env }] = await Promise.all([freshDatabase(), freshNamespace('dev')]);
  onTestFinished(() => database.drop());
  return { DATABASE_URL: database.url, ...env };
}

/** `sluice dev` in that folder, beside any other stack on this machine. */
async function dev(cwd: string, servers: NodeJS.ProcessEnv, ...args: string[]): Promise<RunningCommand> {
  const ports = { SLUICE_HTTP_PORT: String(await freePort()), SLUICE_X402_PORT: String(await freePort()) };
  const env = { ...testEnvironment(), ...servers, ...ports };
  const running = startDevelopment(['dev', ...args], { cwd, env });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  return running;
}

test('sluice dev stops at once on Ctrl-C during its start, stops all started services, and prints no table', async () => {
  const cwd = folder();
  const running = await dev(cwd, {});
  await expect.poll(() => running.stdout(), { timeout: 120_000, interval: 20 }).toContain('is up\n');
  running.child.kill('SIGINT');
  const { code, stdout: said, stderr } = await running.ended;
  expect(said).toMatch(/\nstopping\n$/);
  expect(stderr).toBe('sluice: stopped by SIGINT\n');
  expect(code).toBe(130);
  expect(existsSync(join(cwd, '.sluice/dev.json'))).toBe(false);
  expect(existsSync(join(cwd, '.sluice/dev.pid'))).toBe(false);
});

test('a second sluice dev in the same folder exits and keeps the files of the first', async () => {
  const cwd = folder();
  const facts = JSON.stringify({ apiUrl: 'http://127.0.0.1:3402' });
  writeFileSync(join(cwd, '.sluice/dev.json'), facts);
  writeFileSync(join(cwd, '.sluice/dev.pid'), `${process.pid}\n`);
  const { code, stderr } = await (await dev(cwd, {})).ended;
  expect(stderr).toContain(
    `"npm run dev" runs in this folder already (process ${process.pid}, API http://127.0.0.1:3402)`,
  );
  expect(code).toBe(2);
  expect(readFileSync(join(cwd, '.sluice/dev.json'), 'utf8')).toBe(facts);
});

test('two concurrent starts of sluice dev leave one stack, and the other start exits', async () => {
  const cwd = folder();
  const servers = await shared();
  const both = [await dev(cwd, servers), await dev(cwd, servers)];
  const { code, stderr } = await Promise.race(both.map(({ ended }) => ended));
  expect(code).toBe(2);
  expect(stderr).toContain('runs in this folder already');
  for (const { child } of both) child.kill('SIGINT');
  const codes = await Promise.all(both.map(async ({ ended }) => (await ended).code));
  expect(new Set(codes)).toEqual(new Set([130, 2]));
});

test('sluice dev takes over the services of a killed sluice dev and discards its addresses', async () => {
  const cwd = folder();
  const gone = startDevelopment(['--version']);
  await gone.ended;
  writeFileSync(join(cwd, '.sluice/dev.json'), JSON.stringify({ apiUrl: 'http://127.0.0.1:9' }));
  writeFileSync(join(cwd, '.sluice/dev.pid'), `${gone.child.pid}\n`);
  const running = await dev(cwd, await shared());
  await expect
    .poll(() => running.stdout(), { timeout: 120_000, interval: 20 })
    .toContain('a new mnemonic of 24 words is in');
  expect(existsSync(join(cwd, '.sluice/dev.json'))).toBe(false);
  running.child.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 130 });
});

test('sluice dev runs the whole stack: it pays, assigns addresses, accepts a local webhook and sells', async () => {
  const cwd = folder();
  const running = await dev(cwd, await shared(), '--json');
  await expect.poll(() => running.stdout(), { timeout: 180_000 }).toContain('\n');
  const facts = JSON.parse(running.stdout()) as DevFacts;
  const sluice = new SluiceClient({ baseUrl: facts.apiUrl, apiKey: facts.apiKey });
  const terms = { id: 'dev', asset: 'SOL', amount: '20000000', destination: newAddress() };
  await sluice.withdraw({ ...terms, acceptEmptyWallet: true });
  const { address } = await sluice.depositAddresses.assign('user-1');
  expect(readFileSync(facts.deposits?.manifestFile ?? '', 'utf8')).toContain(address);
  expect(statSync(facts.deposits?.mnemonicFile ?? '').mode & 0o777).toBe(0o600);
  const listed = (await sluice.assets.list()).map(({ asset }) => asset);
  expect(listed).toEqual(expect.arrayContaining(['SOL', ...Object.values(facts.mints)]));
  expect(facts.webhooksToPrivate).toBe(true);
  const hook = await sluice.webhooks.put('http://127.0.0.1:9/hooks', ['deposit.*']);
  expect(hook.url).toContain('127.0.0.1');
  const url = `${facts.sales?.gatewayUrl}/hello`;
  // By then the seller's token account is final, too: the gateway sells nothing before.
  expect((await sluice.waitForFinal('dev')).status).toBe('finalized');
  for (const form of ['v2', 'v1', 'example', 'submitted']) {
    const args = ['x402', 'buy', url, '--form', form, '-o', 'json'];
    const bought = await startDevelopment(args, { cwd }).ended;
    expect(bought.code, bought.stderr).toBe(0);
    expect(JSON.parse(bought.stdout)).toMatchObject({ ok: true, status: 200, form });
    expect(bought.stdout).toContain('hello');
  }
  running.child.kill('SIGTERM');
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/\nstopping\nstopped\n$/);
  expect(readdirSync(join(cwd, '.sluice/keys'))).toContain('api-key');
});
