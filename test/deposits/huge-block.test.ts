import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { base58 } from '@scure/base';
import { afterEach, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { sendAnswer, startNodeProxy } from '../support/node-proxy.ts';
import { isWholeBlock, LyingProxy } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const open: { close(): Promise<unknown> | void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

/** Token accounts that a transaction names through lookup tables; 1,600 such transactions make 64 MiB for 0.008 SOL, these 10. */
const [NAMED, STRANGERS] = [63, 250];
/** The longest answer that is held in memory, below the default. */
const HELD_BYTES = 8 * 1_024 * 1_024;

/** Transactions that name many accounts and move nothing: any sender can make them, and each adds 43 kB to an answer. */
function strangers(wallet: string): readonly AnyJson[] {
  const [payer, mint, owner] = [newAddress(), newAddress(), newAddress()];
  const keys = [wallet, ...Array.from({ length: NAMED - 1 }, newAddress)];
  const accountKeys = [payer, ...keys].map((pubkey, index) => ({
    pubkey,
    signer: index === 0,
    source: index === 0 ? 'transaction' : 'lookupTable',
    writable: index === 0,
  }));
  const uiTokenAmount = { amount: '1000000', decimals: 6, uiAmount: 1, uiAmountString: '1' };
  const holdings = keys.map((_, index) => ({
    accountIndex: index + 1,
    mint,
    owner,
    programId: mint,
    uiTokenAmount,
  }));
  const lamports = accountKeys.map(() => 2_039_280);
  const meta = {
    err: null,
    status: { Ok: null },
    fee: 5_000,
    preBalances: lamports,
    postBalances: lamports.with(0, 2_034_280),
    preTokenBalances: holdings,
    postTokenBalances: holdings,
  };
  return Array.from({ length: STRANGERS }, (_, index) => {
    const signature = new Uint8Array(64).fill(index % 256).fill(Math.floor(index / 256), 0, 8);
    return { meta, transaction: { accountKeys, signatures: [base58.encode(signature)] }, version: 0 };
  });
}

it('a block that any sender can make too long does not stop the scan, does not blame a node, and hides no deposit', async () => {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 7_000_000n);
  fixture.finalize();
  const { slot: last } = await fixture.ledger.scan.cursor().then((cursor) => cursor ?? { slot: 0n });
  const others = strangers(wallet);
  const proxies = fixture.localnet.rpcUrls.map((url) => new LyingProxy(url));
  for (const proxy of proxies)
    proxy.edit = (method, params, answer) => {
      if (method !== 'getBlock' || params[0] !== Number(last) + 1) return answer;
      const { result } = answer;
      if (isWholeBlock(method, params)) result.transactions.unshift(...others);
      else result.signatures.unshift(...others.map(({ transaction }) => transaction.signatures[0]));
      return answer;
    };
  const urls = await Promise.all(proxies.map((proxy) => proxy.start()));
  const pool = await openNodePool(urls, { maxBytes: HELD_BYTES });
  open.push(...proxies, pool);
  await fixture.scanAll(new DepositScanner(fixture.deps(pool)));
  await fixture.confirm();
  expect(JSON.stringify(others).length).toBeGreaterThan(HELD_BYTES);
  expect(pool.report().map(({ demotion, errorRate }) => ({ demotion, errorRate }))).toEqual(
    proxies.map(() => ({ demotion: null, errorRate: 0 })),
  );
  expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 7_000_000n, state: 'final' }]);
});

/** 900 kB: a few of them pass the bound of 2 MB, before a busy machine counts the node as slow. */
const NOTHINGS = '{"a":[]},'.repeat(100_000);

/** A node whose blocks never end. */
async function endlessNode(target: string): Promise<string> {
  const never = async (response: ServerResponse): Promise<void> => {
    response.write('{"jsonrpc":"2.0","result":{"transactions":[');
    while (!response.destroyed) {
      response.write(NOTHINGS);
      await sleep(1);
    }
  };
  const proxy = await startNodeProxy(target, async ({ method, params, forward, response }) => {
    if (isWholeBlock(method, params)) return never(response);
    sendAnswer(await forward(), response);
  });
  open.push(proxy);
  return proxy.url;
}

it('the scan stops requests to a node whose blocks never end, and continues with the others', async () => {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 8_000_000n);
  fixture.finalize();
  const [first = '', ...others] = fixture.localnet.rpcUrls;
  const options = { maxBytes: 100_000, maxPartsBytes: 2_000_000 };
  const pool = await openNodePool([await endlessNode(first), ...others], options);
  open.push(pool);
  await fixture.scanAll(new DepositScanner(fixture.deps(pool)));
  expect(await fixture.depositsOf(wallet)).toMatchObject([{ amount: 8_000_000n }]);
  const [endless, ...honest] = pool.report();
  expect(endless?.demotion).toMatchObject({ cause: 'retry-after' });
  expect(honest.map(({ demotion }) => demotion)).toEqual([null, null]);
});
