import { expect, it } from 'vitest';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { createDepositScan } from '../../src/deposits/scan/tail.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { runActivity } from '../support/activity.ts';
import { newSignature } from './audit-support.ts';
import { isWholeBlock, LyingProxy, useLiar } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const nodes = useLiar(fixture);
const MANY = 200;
const DEPOSITS = 40;
/** The confirmer's batch size. */
const PAGE = 128;

/** How many transactions a scan requests from one node when it is to stop at the first request. */
async function askedInTurn(): Promise<number> {
  const stop = new AbortController();
  let asked = 0;
  nodes.liar.edit = (method, _params, answer) => {
    if (method !== 'getTransaction') return answer;
    asked += 1;
    stop.abort();
    return answer;
  };
  const scan = createDepositScan({ ...fixture.deps(nodes.pool), shutdownSignal: stop.signal });
  await runActivity(() => scan.scanTail({ seconds: 600 }));
  return asked;
}

it('the confirmer delays the scan by one batch of requests at most, and requests the rest in the next turn', async () => {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  for (let made = 0; made < DEPOSITS; made += 1)
    await fixture.localnet.airdrop(wallet, 7_000_000n + BigInt(made));
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  const asked = await askedInTurn();
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThanOrEqual(32);
  nodes.liar.beHonest();
  await fixture.confirm();
  expect((await fixture.depositsOf(wallet)).map(({ state }) => state)).toEqual(Array(DEPOSITS).fill('final'));
});

it('the confirmer requests the newest deposit in its first batch, although many older ones wait that no node returns', async () => {
  await fixture.scanAll(fixture.scanner());
  const [busyWallet, wallet] = [await fixture.newDepositAddress(), await fixture.newDepositAddress()];
  const { slot = 0n, blockhash = '' } = (await fixture.ledger.scan.cursor()) ?? {};
  const place = {
    slot,
    blockhash,
    account: busyWallet,
    wallet: busyWallet,
    asset: 'SOL',
    amount: 7_000_000n,
  };
  const made = { ...place, state: 'pending', finalizedAt: new Date() } as const;
  const rows = Array.from({ length: MANY }, () => ({ ...made, signature: newSignature() }));
  await fixture.ledger.db.insertInto('deposit').values(rows).execute();
  await fixture.localnet.airdrop(wallet, 7_000_000n);
  fixture.finalize();
  await fixture.scanAll(fixture.scanner());
  const page = new AbortController();
  const asked = new Set<string>();
  nodes.liar.edit = (method, [signature], answer) => {
    if (method === 'getTransaction' && asked.add(signature).size > PAGE) page.abort();
    return answer;
  };
  await new DepositConfirmer(fixture.deps(nodes.pool)).confirm(page.signal);
  expect(asked.size).toBeGreaterThan(PAGE);
  expect(asked.size).toBeLessThan(MANY);
  expect(await fixture.depositsOf(wallet)).toMatchObject([{ state: 'final' }]);
});

it('a scan that is to stop waits for no block, and reports its last known state', async () => {
  await fixture.scanAll(fixture.scanner());
  fixture.finalize();
  const stop = new AbortController();
  const proxies = fixture.localnet.rpcUrls.map((url) => new LyingProxy(url));
  for (const proxy of proxies)
    proxy.edit = (method, params, answer) => {
      if (!isWholeBlock(method, params)) return answer;
      stop.abort();
      return new Promise(() => undefined);
    };
  const urls = await Promise.all(proxies.map((proxy) => proxy.start()));
  const pool = await openNodePool(urls, { timeoutMs: 600_000 });
  const scan = createDepositScan({ ...fixture.deps(pool), shutdownSignal: stop.signal });
  const status = await runActivity(() => scan.scanTail({ seconds: 600 }));
  expect(status).not.toHaveProperty('reason');
  expect(pool.report().map(({ errorRate }) => errorRate)).toEqual([0, 0, 0]);
  await pool.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});
