import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { DevFacts } from '../../devkit/localstack/dev-file.ts';
import { keypairFile, newAddress } from '../../devkit/localstack/keypair.ts';
import { SluiceClient } from '../../src/client/client.ts';
import { startDevelopment } from '../support/cli.ts';
import { dev, folder, sellOn, shared } from './dev-command.ts';

vi.setConfig({ testTimeout: 240_000 });

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

test('sluice dev takes over from a killed sluice dev and runs the whole stack: it pays, assigns addresses, accepts a local webhook and sells', async () => {
  const cwd = folder();
  const gone = startDevelopment(['--version']);
  await gone.ended;
  const addresses = join(cwd, '.sluice/dev.json');
  const earlier = JSON.stringify({ apiUrl: 'http://127.0.0.1:9' });
  writeFileSync(addresses, earlier);
  writeFileSync(join(cwd, '.sluice/dev.pid'), `${gone.child.pid}\n`);
  const running = await dev(cwd, await shared(), '--json');
  await expect
    .poll(() => running.stderr(), { timeout: 120_000, interval: 20 })
    .toContain('a new mnemonic of 24 words is in');
  expect(existsSync(addresses) && readFileSync(addresses, 'utf8')).not.toBe(earlier);
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

test('sluice dev --rpc sells on a chain that runs already: it makes a mint, a seller and a buyer there', async () => {
  const chain = await startLocalnet({ slotMs: 100, finalityLag: 8, nodes: 1 });
  try {
    await sellOn(chain.rpcUrls[0] ?? '');
  } finally {
    await chain.close();
  }
});

test('sluice dev --routes sells routes of the developer, and names the wallet that needs SOL if the node gives none', async () => {
  const chain = await startLocalnet({ slotMs: 100, finalityLag: 8, nodes: 1 });
  const cwd = folder();
  try {
    chain.controls.setFault(0, 'requestAirdrop', {
      kind: 'error',
      code: -32601,
      message: 'Method not found',
    });
    const payTo = newAddress();
    const routes = [{ path: '/hello', price: '0.001', answer: { body: 'hello' } }];
    writeFileSync(join(cwd, 'shop.json'), JSON.stringify({ payTo, routes }));
    const [rpcUrl = ''] = chain.rpcUrls;
    const running = await dev(cwd, await shared(), '--rpc', rpcUrl, '--routes', 'shop.json');
    await expect.poll(() => running.stdout(), { timeout: 180_000 }).toContain('x402 gateway');
    const { address } = keypairFile(join(cwd, '.sluice/keys/fee-payer-1.json'));
    expect(running.stdout()).toContain(`send at least 0.05 SOL to ${address}`);
    expect(running.stdout()).toContain('not sold yet: ');
    const { sales } = JSON.parse(readFileSync(join(cwd, '.sluice/dev.json'), 'utf8')) as DevFacts;
    expect(sales).toMatchObject({
      routesFile: join(cwd, 'shop.json'),
      feePayer: address,
      buyerKeyFile: null,
    });
    const url = `${sales?.gatewayUrl}/hello`;
    expect((await fetch(url)).status).toBe(503);
    chain.controls.clearFaults();
    await chain.airdrop(address, 50_000_000n);
    await chain.mintTo(chain.plantedMint.address, payTo, 1n);
    await expect.poll(async () => (await fetch(url)).status, { timeout: 120_000 }).toBe(402);
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
  } finally {
    await chain.close();
  }
});

test('sluice dev refuses --chain with --rpc, and a routes file that does not exist', async () => {
  const cwd = folder();
  const both = await (await dev(cwd, {}, '--chain', 'localnet', '--rpc', 'http://127.0.0.1:1')).ended;
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('give one of them') });
  const none = await (await dev(cwd, {}, '--routes', 'none.json')).ended;
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('none.json does not exist') });
});
