import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { BlockCopies } from '../../src/deposits/backfill/block-copies.ts';
import { createDepositRescan } from '../../src/deposits/backfill/rescan.ts';
import { DepositAnnouncer } from '../../src/deposits/credits/announce.ts';
import { createDepositRanges } from '../../src/deposits/scan/catch-up.ts';
import type { WatchedBlock } from '../../src/deposits/scan/matcher.ts';
import { chainReader, DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { finalizedTip } from '../../src/solana/scan/frontier.ts';
import { runActivity } from '../support/activity.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(2);
const AMOUNTS = [2_000_000n, 3_000_000n, 4_000_000n];
/** Shorter than a block with one transaction, and longer than its list of signatures. */
const HELD_BYTES = 900;
/** Memory for the names of as many long blocks as are read here at once. */
const PLENTY_BYTES = 256 * 1_024 * 1_024;
let narrow: NodePool;
type Deps = ReturnType<typeof fixture.deps>;

beforeAll(async () => {
  narrow = await openNodePool(fixture.localnet.rpcUrls, { maxBytes: HELD_BYTES });
});
afterAll(() => narrow.close());

/** A wallet of ours that was paid these amounts, each in a block of its own. */
async function paidWallet(amounts = AMOUNTS): Promise<string> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  for (const amount of amounts) await fixture.localnet.airdrop(wallet, amount);
  fixture.finalize();
  return wallet;
}

async function amountsOf(wallet: string): Promise<readonly bigint[]> {
  const amounts = (await fixture.depositsOf(wallet)).map(({ amount }) => amount);
  return amounts.toSorted((a, b) => Number(a - b));
}

/** The blocks after the cursor, read as by a scanner that holds no block. */
async function readLong(deps: ReturnType<typeof fixture.deps>) {
  const expected = await fixture.ledger.scan.cursor();
  if (expected === null) throw new Error('the scan has begun');
  const reader = chainReader(deps, PLENTY_BYTES);
  const tip = await finalizedTip(fixture.pool);
  await reader.readAfter(expected, tip);
  const reading = await reader.readAfter(expected, tip);
  if (reading.kind !== 'linked') throw new Error(`the blocks are ${reading.kind}`);
  const long = reading.blocks.filter(({ retained }) => retained.kind === 'names');
  if (long.length === 0) throw new Error('no block is long');
  return { expected, blocks: reading.blocks };
}

describe('a block that is too long to hold in memory brings its deposits', () => {
  it('to a scan that follows the chain, and no node is blamed', async () => {
    const wallet = await paidWallet();
    await fixture.scanAll(new DepositScanner(fixture.deps(narrow)));
    await fixture.confirm();
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
    expect((await fixture.depositsOf(wallet)).map(({ state }) => state)).toEqual(AMOUNTS.map(() => 'final'));
    expect(narrow.report().map(({ demotion, errorRate }) => ({ demotion, errorRate }))).toEqual(
      fixture.localnet.rpcUrls.map(() => ({ demotion: null, errorRate: 0 })),
    );
    await fixture.chainLength();
  });

  it('to a scan that catches up', async () => {
    const wallet = await paidWallet();
    const ranges = createDepositRanges({ ...fixture.deps(narrow), catchUpSlots: 1n, rangeBlocks: 2 });
    const plan = await runActivity(() => ranges.planCatchUp());
    for (const range of plan.ranges)
      expect(await runActivity(() => ranges.scanRange(range))).toMatchObject({ complete: true });
    await runActivity(() => ranges.joinRanges());
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('to an announcement before the block is finalized', async () => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.airdrop(wallet, 7_000_000n);
    fixture.localnet.controls.produceSlots(2);
    await new DepositAnnouncer(fixture.deps(narrow)).announce();
    expect(await amountsOf(wallet)).toEqual([7_000_000n]);
  });

  it('to a rescan', async () => {
    const wallet = await paidWallet();
    await fixture.scanAll(fixture.scanner());
    const deposits = await fixture.depositsOf(wallet);
    await fixture.lose(deposits);
    const slots = deposits.map(({ slot }) => slot).toSorted((a, b) => Number(a - b));
    const order = { from: String(slots[0]), to: String(slots.at(-1)), actor: 'ops', reason: 'to see' };
    await runActivity(() => createDepositRescan(fixture.deps(narrow)).rescan(order));
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });
});

describe('a wallet that is added while a long block is read', () => {
  it('makes the scan read the block again where the block names it, and credits its deposit', async () => {
    const wallet = newAddress();
    await fixture.scanAll(fixture.scanner());
    await fixture.localnet.airdrop(wallet, 5_000_000n);
    fixture.finalize();
    const deps = fixture.deps(narrow, { maxAgeMs: 0 });
    const { expected, blocks } = await readLong(deps);
    await deps.matcher.match(blocks);
    await fixture.ledger.addresses.import([{ address: wallet, path: `m/${wallet}` }]);
    const asked = () => narrow.report().map(({ calls }) => calls);
    const before = asked();
    // While imports wait for a lock, no node is asked.
    await expect(deps.matcher.match(blocks, 3)).rejects.toMatchObject({ code: 'Unavailable' });
    expect(asked()).toEqual(before);
    const again = await deps.matcher.match(blocks);
    expect(await fixture.ledger.scan.commit({ expected, ...again })).toBe('committed');
    expect(await amountsOf(wallet)).toEqual([5_000_000n]);
  });

  it.each([
    ['by the scan', async (_deps: Deps, block: WatchedBlock) => block],
    [
      'by a rescan',
      async (deps: Deps, { header }: WatchedBlock) => {
        const [block] = (await runActivity(() => new BlockCopies(deps).copyFirst([header]))).flat();
        if (block === undefined) throw new Error('the block is shown');
        return block;
      },
    ],
  ])('is found although a node leaves it out of the second answer, %s', async (_name, readBy) => {
    const wallet = await paidWallet([5_000_000n]);
    const deps = fixture.deps(narrow);
    const { blocks } = await readLong(deps);
    const paid = blocks.find(({ candidates }) => candidates.includes(wallet));
    if (paid === undefined) throw new Error('a block pays the wallet');
    const block = await readBy(deps, paid);
    const { controls } = fixture.localnet;
    for (const node of [0, 1]) controls.setFault(node, 'getBlock', { kind: 'false-block', lie: 'leave-out' });
    await expect(block.readAgain(block.watch)).rejects.toMatchObject({
      message: expect.stringContaining('has other signatures than the agreed block header'),
    });
    controls.clearFaults();
    expect((await block.readAgain(block.watch)).candidates).toContain(wallet);
  });

  it('causes no request where the block does not name it', async () => {
    const wallet = await paidWallet();
    const deps = fixture.deps(narrow, { maxAgeMs: 0 });
    const { expected, blocks } = await readLong(deps);
    await deps.matcher.match(blocks);
    await fixture.newDepositAddress();
    const asked = narrow.report().map(({ calls }) => calls);
    const matched = await deps.matcher.match(blocks, 3);
    expect(await fixture.ledger.scan.commit({ expected, ...matched })).toBe('committed');
    expect(narrow.report().map(({ calls }) => calls)).toEqual(asked);
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });

  it('is found although the process has dropped its watch set since', async () => {
    const wallet = await paidWallet();
    const deps = fixture.deps(narrow);
    const { expected, blocks } = await readLong(deps);
    deps.matcher.forget();
    const blind = blocks.map((block) => ({ ...block, candidates: [], transactions: [] }));
    const matched = await deps.matcher.match(blind);
    expect(await fixture.ledger.scan.commit({ expected, ...matched })).toBe('committed');
    expect(await amountsOf(wallet)).toEqual(AMOUNTS);
  });
});
