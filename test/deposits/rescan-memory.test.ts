import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { BlockCopies } from '../../src/deposits/backfill/block-copies.ts';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { runActivity } from '../support/activity.ts';
import { isWholeBlock, LyingProxy } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const MIB = 1_024 * 1_024;
const BLOCKS = 6;
const fixture = useScanFixture(2);
const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

/** Rescans blocks that are longer by this many bytes; returns the highest number of concurrent requests. Answers of `maxBytes` are held. */
async function mostAtOnce(bytes: number, maxBytes = 64 * MIB): Promise<number> {
  await fixture.scanAll(fixture.scanner());
  const from = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
  fixture.finalize(BLOCKS);
  await fixture.scanAll(fixture.scanner());
  const pad = 'x'.repeat(bytes);
  const underWay: number[] = [];
  let most = 0;
  const proxies = fixture.localnet.rpcUrls.map((url) => new LyingProxy(url));
  for (const proxy of proxies)
    proxy.edit = async (method, params, answer) => {
      if (!isWholeBlock(method, params)) return answer;
      underWay.push(params[0]);
      most = Math.max(most, new Set(underWay).size);
      await sleep(100);
      underWay.splice(underWay.indexOf(params[0]), 1);
      return { ...answer, result: { ...answer.result, pad } };
    };
  const urls = await Promise.all(proxies.map((proxy) => proxy.start()));
  const pool = await openNodePool(urls, { maxBytes });
  open.push(...proxies, pool);
  const to = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
  const order = { from: `${from + 1n}`, to: `${to}`, actor: 'ops', reason: 'to see' };
  const rescan = () => createDepositRescan(fixture.deps(pool)).rescan(order);
  expect(await runActivity(rescan)).toMatchObject({ blocks: Number(to - from) });
  return most;
}

it('a rescan holds no more large blocks at once than fit in memory', async () => {
  expect(await mostAtOnce(22 * MIB)).toBe(1);
});

it('a rescan counts a block that is too long to hold by the part that it keeps', async () => {
  // The search keeps the envelope (1 MiB) and the few addresses of each block, so the maximum of four fits.
  expect(await mostAtOnce(MIB, MIB)).toBe(4);
});

it('a rescan reads several small blocks at once', async () => {
  expect(await mostAtOnce(0)).toBeGreaterThan(1);
});

it('a rescan holds four blocks at most, however small earlier blocks were, as the next blocks may be the longest', async () => {
  await fixture.scanAll(fixture.scanner());
  const from = (await fixture.ledger.scan.cursor())?.slot ?? 0n;
  fixture.finalize(9);
  await fixture.scanAll(fixture.scanner());
  const headers = await fixture.ledger.scan.headersBetween(from + 1n, from + 9n);
  expect(headers).toHaveLength(9);
  const batches = new BlockCopies(fixture.deps());
  const first = () => runActivity(() => batches.copyFirst(headers));
  expect(await first()).toHaveLength(1);
  expect(await first()).toHaveLength(4);
});
