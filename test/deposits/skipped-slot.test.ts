import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import { createDepositRanges } from '../../src/deposits/scan/catch-up.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { createDepositScan } from '../../src/deposits/scan/tail.ts';
import { rangeOf } from '../../src/domain/scan.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { environmentOfRun, runActivity } from '../support/activity.ts';
import type { AnyJson } from '../support/node-proxy.ts';
import { isWholeBlock, LyingProxy, makeFirstNodeFastest } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
const LAMPORTS = 7_000_000n;
/** Longer than any test here: only the caller ends a request that the lying node leaves open. */
const NEVER_MS = 600_000;
const NODES = [0, 1, 2];

let liar: LyingProxy;
let pool: NodePool;

beforeAll(async () => {
  const [first = '', ...others] = fixture.localnet.rpcUrls;
  liar = new LyingProxy(first);
  pool = await openNodePool([await liar.start(), ...others], { timeoutMs: NEVER_MS });
  await makeFirstNodeFastest(fixture, pool);
});
afterEach(() => liar.beHonest());
afterAll(async () => {
  await pool.close();
  await liar.close();
});

type IsOpen = (method: string, params: AnyJson) => boolean;

const isHeader: IsOpen = (method, params) => method === 'getBlock' && !isWholeBlock(method, params);

/** The node that is asked first lists these skipped slots, and leaves the requests for them open. */
function lieAbout(skipped: readonly number[], isOpen: IsOpen): void {
  liar.edit = (method, params, answer) => {
    if (method === 'getBlocks') {
      const [from, to] = params;
      const made = skipped.filter((slot) => slot >= from && slot <= to);
      answer.result = [...answer.result, ...made].toSorted((a: number, b: number) => a - b);
    }
    return skipped.includes(params[0]) && isOpen(method, params) ? new Promise(() => undefined) : answer;
  };
}

/** Leaves these next slots without a block. */
function skip(count: number): readonly number[] {
  const { chain } = fixture.localnet.controls;
  const { slot } = chain.ledger.tip;
  fixture.localnet.controls.skipSlots(count);
  return Array.from({ length: count }, (_, index) => Number(slot) + 1 + index);
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  return (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
}

/** A payment after some skipped slots. */
async function paidBehind(count: number) {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  fixture.localnet.controls.produceSlots(2);
  const skipped = skip(count);
  await fixture.localnet.airdrop(wallet, LAMPORTS);
  fixture.finalize();
  return { wallet, skipped };
}

// This test is the first, as the pool asks the lying node last later on.
it('a slot that one node alone has confirmed, and whose block answer never ends, ends with the turn', async () => {
  await fixture.scanAll(fixture.scanner());
  const skipped = skip(1);
  fixture.localnet.controls.produceSlots(2);
  let asked = 0;
  lieAbout(skipped, (method, params) => {
    if (isWholeBlock(method, params)) asked += 1;
    return isWholeBlock(method, params);
  });
  const scan = createDepositScan({
    ...fixture.deps(pool),
    announces: true,
  });
  const status = await runActivity(() => scan.scanTail({ seconds: 3 }));
  expect(asked).toBeGreaterThan(0);
  expect(status).not.toHaveProperty('reason');
}, 20_000);

describe.each([
  ['block', isWholeBlock],
  ['header', isHeader],
] as const)(
  'a skipped slot that one node of three lists, and whose %s answer never ends',
  (_what, isOpen) => {
    it('does not delay the scan', async () => {
      const { wallet, skipped } = await paidBehind(12);
      lieAbout(skipped, isOpen);
      await fixture.scanAll(new DepositScanner(fixture.deps(pool)));
      expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
    });

    it('does not delay the scan where more slots are listed than one reading takes', async () => {
      const { wallet, skipped } = await paidBehind(40);
      lieAbout(skipped, isOpen);
      await fixture.scanAll(new DepositScanner(fixture.deps(pool)));
      expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
    });

    it('does not delay a catch-up', async () => {
      const { wallet, skipped } = await paidBehind(12);
      fixture.finalize(16);
      lieAbout(skipped, isOpen);
      const activities = createDepositRanges({ ...fixture.deps(pool), catchUpSlots: 10n, rangeBlocks: 8 });
      const { ranges } = await runActivity(() => activities.planCatchUp());
      expect(ranges.length).toBeGreaterThan(1);
      const ends = await Promise.all(ranges.map((range) => runActivity(() => activities.scanRange(range))));
      expect(ends.map(({ complete }) => complete)).toEqual(ranges.map(() => true));
      await runActivity(() => activities.joinRanges());
      expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
    });

    it('does not delay a rescan of a closed gap', async () => {
      await fixture.scanAll(fixture.scanner());
      const wallet = await fixture.newDepositAddress();
      const from = fixture.localnet.controls.produceSlot();
      const skipped = skip(12);
      await fixture.localnet.airdrop(wallet, LAMPORTS);
      const to = fixture.localnet.controls.produceSlot();
      fixture.finalize();
      for (const node of NODES) fixture.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
      await fixture.scanAll(fixture.scanner());
      const gap = await fixture.closeGap();
      fixture.localnet.controls.clearFaults();
      await fixture.scanAll(fixture.scanner());
      lieAbout(skipped, isOpen);
      const activities = createDepositRescan(fixture.deps(pool));
      const order = { ...rangeOf(gap), actor: 'ops', reason: 'to see' };
      expect(await environmentOfRun().run(() => activities.rescan(order))).toMatchObject({
        found: 1,
        unread: [],
      });
    });
  },
);

it('a skipped slot that one node lists and answers slowly does not keep the scan from a block that only this node returns', async () => {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  const from = fixture.localnet.controls.produceSlot();
  await fixture.localnet.airdrop(wallet, LAMPORTS);
  const to = fixture.localnet.controls.produceSlot();
  const skipped = skip(12);
  fixture.finalize();
  for (const node of [1, 2]) fixture.localnet.controls.setFault(node, '*', { kind: 'hole', from, to });
  lieAbout(skipped, isWholeBlock);
  await fixture.scanAll(new DepositScanner(fixture.deps(pool)));
  expect(await amountsOf(wallet)).toEqual([LAMPORTS]);
});
