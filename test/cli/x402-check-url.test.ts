import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { writeHeaderJson } from '../../src/x402/formats/json.ts';
import { callSluice } from '../support/call-sluice.ts';
import { jsonOf } from '../support/cli.ts';
import { startHttp } from '../support/http.ts';
import { Shop } from '../x402/gateway/shop.ts';

let shop: Shop;

beforeAll(async () => {
  const routes = (upstream: string) => [{ path: '/item', price: '0.001', upstream }];
  shop = await Shop.open(routes);
  await shop.opened('/item');
}, 60_000);
afterAll(() => shop?.close());

const check = (...args: readonly string[]) => callSluice(['x402', 'check', ...args], {});

it('sluice x402 check says in plain English that a client can pay our gateway, with the accounts on chain', async () => {
  const ended = await check(`${shop.url}/item`, '--rpc', shop.rpcUrl);
  const mint = shop.localnet.plantedMint.address;
  const sale = `0.001 USDC (1000 base units of ${mint}) on Solana devnet to ${shop.seller}`;
  const sponsored = `${sale}, ${shop.feePayer} pays the fee, within 60 s`;
  expect(ended.stdout.trimEnd().split('\n')).toEqual([
    `${shop.url}/item: a buyer's client can pay`,
    `  x402 version 2: ${sponsored}`,
    `  x402 version 1: ${sponsored}`,
    `  exchange interface: ${sale}, the buyer pays the fee`,
  ]);
  expect(ended).toMatchObject({ code: 0, stderr: '' });
});

it('sluice x402 check names what another seller lacks on chain, and exits with code 1', async () => {
  const [payTo, feePayer, asset] = [1, 2, 3].map(() => Keypair.generate().publicKey.toBase58());
  const network = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  const common = {
    scheme: 'exact',
    network,
    amount: '1000',
    payTo,
    maxTimeoutSeconds: 60,
    extra: { feePayer },
  };
  const accepts = [
    { ...common, asset: shop.localnet.plantedMint.address },
    { ...common, asset },
  ];
  const terms = { x402Version: 2, resource: { url: 'http://seller/' }, accepts };
  const seller = await startHttp(async (_request, response) => {
    response.writeHead(402, { 'payment-required': writeHeaderJson(terms) }).end('{}');
  });
  try {
    const place = 'PAYMENT-REQUIRED accepts';
    const ended = await check(seller.url, '--rpc', shop.rpcUrl, '-o', 'json');
    expect(ended.code).toBe(1);
    expect(jsonOf(ended)).toMatchObject({
      ok: false,
      isChainChecked: true,
      offers: [{ amount: '1000', decimals: 6 }, { decimals: null }],
      faults: [
        { place: `${place}[0] payTo`, found: expect.stringContaining('has no associated token account') },
        { place: `${place}[1] asset`, found: expect.stringContaining('the mint does not exist') },
        { place: `${place}[0] extra.feePayer`, found: `${feePayer} with 0 lamports` },
      ],
    });
    const withoutNode = await check(seller.url);
    expect(withoutNode).toMatchObject({ code: 0 });
    expect(withoutNode.stdout).toContain(
      'note: mints, token accounts and fee payers are not checked: use --rpc or SLUICE_RPC_URLS',
    );
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-check-'));
    mkdirSync(join(cwd, '.sluice'));
    writeFileSync(join(cwd, '.sluice/dev.json'), JSON.stringify({ rpcUrls: [shop.rpcUrl] }));
    const inDevFolder = await callSluice(['x402', 'check', seller.url, '-o', 'json'], { cwd });
    expect(jsonOf(inDevFolder)).toMatchObject({ ok: false, isChainChecked: true });
  } finally {
    await seller.close();
  }
  expect((await check(seller.url)).stdout).toContain(`${seller.url}: a buyer's client cannot pay: 1 fault\n`);
  const gone = await check(seller.url, '--json');
  expect(gone.code).toBe(1);
  expect(jsonOf(gone)).toMatchObject({ ok: false, faults: [{ place: 'request' }] });
});
