import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { reportOf } from '../../src/deposits/scan/report.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { type BlockAnswer, type FalseResult, falseHash, startLiar } from '../solana/lying-node.ts';
import type { ScriptedNode } from '../solana/rpc-scripted-node.ts';
import { useScanFixture } from './scan-fixture.ts';

const TRUTH: FalseResult = () => undefined;
/** What a node returns for a parent that it has cleaned up. */
const CLEANED_UP = '1'.repeat(32);

const fixture = useScanFixture();
let nodes: readonly ScriptedNode[] = [];
let pool: Awaited<ReturnType<typeof openNodePool>>;
let lie = TRUTH;

beforeAll(async () => {
  nodes = await Promise.all(fixture.localnet.rpcUrls.map((url) => startLiar(url, () => lie)));
  pool = await openNodePool(nodes.map(({ url }) => url));
});
afterEach(() => {
  lie = TRUTH;
});
afterAll(async () => {
  await pool.close();
  for (const node of nodes) await node.close();
});

/** Every node returns the block `slots` above the cursor with an unknown parent hash. Resolves with the reason why the scan stops. */
async function stopReportAt(slots: bigint, previousBlockhash: string) {
  const scanner = new DepositScanner(fixture.deps(pool));
  const { cursor } = await fixture.scanAll(scanner);
  const slot = cursor.slot + slots;
  lie = ({ method, params }, truth) =>
    method === 'getBlock' && BigInt(String(params[0])) === slot
      ? { ...(truth as BlockAnswer), previousBlockhash }
      : undefined;
  fixture.finalize(8);
  const report = reportOf(await fixture.scanAll(scanner));
  lie = TRUTH;
  await fixture.scanAll(scanner);
  const headers = await fixture.ledger.scan.headersBetween(slot - 1n, slot);
  const [parent, child] = headers.map(({ blockhash }) => blockhash);
  const names = pool.nodes.map(({ name }) => name).join(', ');
  return { report, slot, parent, child, names };
}

it.each([falseHash(1), CLEANED_UP])(
  'a block whose parent is %s on all nodes is no gap in their history, and the scan reports the difference',
  async (hash) => {
    const { report, slot, parent, child, names } = await stopReportAt(3n, hash);
    expect(report).toMatchObject({
      state: 'gap',
      reason: expect.stringMatching(
        new RegExp(
          `^block ${child} of slot ${slot} \\(from ${names}\\) names block ${hash} .* in slot ${slot - 1n} as its parent; ` +
            `in slot ${slot - 1n} nodes return another block \\(${names}: block ${parent} .*compare the blocks of both slots`,
        ),
      ),
    });
  },
);

it('a block above the cursor with a false parent stops the scan, and the scan reports the difference from the block before it', async () => {
  const { report, slot, parent, child, names } = await stopReportAt(1n, falseHash(2));
  expect(report).toMatchObject({
    state: 'stopped',
    reason: expect.stringMatching(
      new RegExp(
        `does not contain block ${parent} of slot ${slot - 1n}, .*: block ${child} of slot ${slot} ` +
          `\\(from ${names}\\) names block ${falseHash(2)} .*compare the blocks of both slots`,
      ),
    ),
  });
});
