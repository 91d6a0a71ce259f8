import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { FORMS, fetchTerms, offeredAssets } from '../../../devkit/localstack/buyer.ts';
import { type CommandResult, jsonOf, startDevelopment } from '../../support/cli.ts';
import { Shop } from './shop.ts';

let shop: Shop;
let proxy: Server;
let proxyUrl: string;
/** True: the proxy forwards the next payment, and cuts the connection of its answer. */
let losesAnswer = false;
/** The proxy answers the next payment with this status, and does not forward it. */
let earlyStatus: number | null = null;

const weather = (upstream: string) => [
  { path: '/weather', price: '0.001', accessPass: { seconds: 300 }, upstream },
];

beforeAll(async () => {
  shop = await Shop.open(weather);
  shop.upstream = ({ target }) => ({ status: 200, body: `answer to ${target}` });
  await shop.opened('/weather');
  proxy = createServer((client, response) => {
    const isPayment = (client.headers['payment-signature'] ?? client.headers['x-payment']) !== undefined;
    if (isPayment && earlyStatus !== null) {
      response.writeHead(earlyStatus).end();
      return;
    }
    const isLost = losesAnswer && isPayment;
    httpRequest(shop.url + client.url, { headers: client.headers }, (answer) => {
      if (isLost) {
        losesAnswer = false;
        answer.resume().once('end', () => response.destroy());
      } else answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers));
    }).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});
afterAll(async () => {
  proxy?.close();
  await shop?.close();
});

it('x402 buy pays with the asset of its choice, and names the offered ones if the choice is none of them', async () => {
  const { secretKey, rpcUrl, address } = await shop.buyer(0n);
  const other = await shop.localnet.controls.createToken22Mint();
  for (const wallet of [shop.seller, address]) await shop.localnet.mintTo(other, wallet, 100n);
  const first = shop.localnet.plantedMint.address;
  const prices = [first, other].map((asset) => ({ amount: '7', asset }));
  const routes = (upstream: string) => [...weather(upstream), { path: '/both', prices, upstream }];
  shop.reload(routes);
  const url = `${shop.url}/both`;
  const areSold = async () => expect(offeredAssets(await fetchTerms(url))).toEqual([first, other]);
  await vi.waitFor(areSold, { timeout: 20_000, interval: 200 });
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-buy-'));
  writeFileSync(join(cwd, 'buyer.json'), JSON.stringify([...secretKey]));
  const buy = (asset: string, form: string): Promise<CommandResult> => {
    const all = ['x402', 'buy', url, '--form', form, '--key', 'buyer.json', '--asset', asset, '-o', 'json'];
    return startDevelopment(all, { cwd, env: { SLUICE_RPC_URLS: rpcUrl } }).ended;
  };
  const refused = await buy(shop.seller, 'v2');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`one of ${first}, ${other}`)]);
  for (const form of FORMS) {
    const bought = await buy(other, form);
    expect(bought.code, bought.stderr).toBe(0);
    expect(jsonOf(bought)).toMatchObject({ pass: null });
  }
  const { rows } = await shop.ledger.payments.list({ limit: 50, payer: address });
  expect(rows.map(({ terms }) => terms.asset)).toEqual(FORMS.map(() => other));
});

it('x402 buy keeps a payment at 408, 425 and 429, and forgets it at 400', async () => {
  const { secretKey, rpcUrl } = await shop.buyer();
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-buy-'));
  writeFileSync(join(cwd, 'buyer.json'), JSON.stringify([...secretKey]));
  const args = ['x402', 'buy', `${proxyUrl}/weather`, '--key', 'buyer.json'];
  const buy = (...more: readonly string[]): Promise<CommandResult> =>
    startDevelopment([...args, ...more], { cwd, env: { SLUICE_RPC_URLS: rpcUrl } }).ended;
  try {
    for (const status of [429, 408, 425]) {
      earlyStatus = status;
      const refused = await buy(...(status === 429 ? [] : ['--resume']));
      expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('--resume')]);
      expect(refused.stdout).toContain(`status     ${status}`);
    }
    earlyStatus = 400;
    expect((await buy('--resume')).stdout).not.toContain('--resume');
  } finally {
    earlyStatus = null;
  }
  expect((await buy('--resume')).code).toBe(2);
});

describe.each(['v2', 'submitted'])('x402 buy in the form %s', (form) => {
  it('keeps a payment whose answer was lost, signs no second one, and presents it again', async () => {
    const { secretKey, rpcUrl, address } = await shop.buyer();
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-buy-'));
    writeFileSync(join(cwd, 'buyer.json'), JSON.stringify([...secretKey]));
    const url = `${proxyUrl}/weather?${form}`;
    const buy = (...args: readonly string[]): Promise<CommandResult> => {
      const all = ['x402', 'buy', url, '--form', form, '--key', 'buyer.json', '-o', 'json', ...args];
      return startDevelopment(all, { cwd, env: { SLUICE_RPC_URLS: rpcUrl } }).ended;
    };
    losesAnswer = true;
    const lost = await buy();
    expect(lost.code).toBe(1);
    expect(lost.stderr).toContain('--resume');
    const [, hash] = /^payment {4}([0-9a-f]{64})$/m.exec(lost.stderr) ?? [];
    expect(lost.stderr).toMatch(
      form === 'submitted' ? /^signature {2}\w{64,88}$/m : /^signature {2}made by the seller$/m,
    );
    const second = await buy();
    expect([second.code, second.stderr]).toEqual([2, expect.stringContaining('--resume')]);
    const resumed = await buy('--resume');
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(jsonOf(resumed)).toMatchObject({
      ok: true,
      payment: hash,
      body: expect.stringContaining('answer to'),
      pass: expect.any(String),
    });
    const { pass } = jsonOf(resumed) as { readonly pass: string };
    const again = await fetch(`${shop.url}/weather?day=2`, { headers: { 'sluice-access-pass': pass } });
    expect([again.status, await again.text()]).toEqual([200, 'answer to /weather?day=2']);
    const { rows } = await shop.ledger.payments.list({ limit: 50 });
    expect(rows.filter(({ payer }) => payer === address)).toHaveLength(1);
    expect((await buy('--resume')).code).toBe(2);
  });
});
