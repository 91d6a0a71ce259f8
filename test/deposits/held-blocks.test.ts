import { describe, expect, it } from 'vitest';
import { createDepositRanges } from '../../src/deposits/scan/catch-up.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { runActivity } from '../support/activity.ts';
import { isWholeBlock, useProxies } from './lying-proxy.ts';
import { useScanFixture } from './scan-fixture.ts';

/** The proof with blocks of 50 MB, and memory as the operating system counts it, is `large-blocks.slow.test.ts`. */
const fixture = useScanFixture(2);
const LAMPORTS = 2_000_000n;
const BLOCK_BYTES = 64 * 1_024;
/** Limits with memory for one block, and for many. */
const [NARROW, WIDE] = [BLOCK_BYTES, 64 * BLOCK_BYTES];
const use = useProxies(fixture);

const ascending = (a: bigint, b: bigint): number => Number(a - b);

/** Makes every block at least `BLOCK_BYTES` long; returns the highest number of concurrent block requests so far. */
function lengthenBlocks(): () => number {
  const underWay: number[] = [];
  let most = 0;
  for (const proxy of use.proxies)
    proxy.edit = async (method, params, answer) => {
      if (!isWholeBlock(method, params)) return answer;
      underWay.push(params[0]);
      most = Math.max(most, new Set(underWay).size);
      // All concurrent requests are sent before the first of them is answered.
      await new Promise((resolve) => setTimeout(resolve, 20));
      underWay.splice(underWay.indexOf(params[0]), 1);
      return { ...answer, result: { ...answer.result, pad: 'x'.repeat(BLOCK_BYTES) } };
    };
  return () => most;
}

/** A wallet that was paid in each of so many blocks after the cursor. */
async function paidWallet(blocks: number): Promise<string> {
  await fixture.scanAll(fixture.scanner());
  const wallet = await fixture.newDepositAddress();
  for (let n = 0; n < blocks; n += 1) await fixture.localnet.airdrop(wallet, LAMPORTS + BigInt(n));
  fixture.finalize();
  return wallet;
}

async function follow(budgetBytes: number): Promise<void> {
  await fixture.scanAll(new DepositScanner({ ...fixture.deps(use.pool), budgetBytes }));
}

async function catchUp(budgetBytes: number): Promise<void> {
  const deps = { ...fixture.deps(use.pool), catchUpSlots: 1n, rangeBlocks: 64, budgetBytes };
  const ranges = createDepositRanges(deps);
  const plan = await runActivity(() => ranges.planCatchUp());
  for (const range of plan.ranges)
    expect(await runActivity(() => ranges.scanRange(range))).toMatchObject({ complete: true });
  await runActivity(() => ranges.joinRanges());
}

describe.each([
  ['follows', follow],
  ['catches up', catchUp],
])('a scan that %s commits the deposits of large blocks', (_how, scan) => {
  it.each([
    ['one at a time where the memory holds one block', NARROW, (most: number) => most === 1],
    ['several at once where the memory holds several blocks', WIDE, (most: number) => most > 1],
  ])('%s', async (_name, budgetBytes, isRight) => {
    const paid = 8;
    const wallet = await paidWallet(paid);
    const most = lengthenBlocks();
    await scan(budgetBytes);
    expect(most()).toSatisfy(isRight);
    expect((await fixture.depositsOf(wallet)).map(({ amount }) => amount).toSorted(ascending)).toEqual(
      Array.from({ length: paid }, (_, n) => LAMPORTS + BigInt(n)),
    );
    await fixture.chainLength();
  });
});
