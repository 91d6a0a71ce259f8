import { expect, it } from 'vitest';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture(3);
/** Longer than the wait for a node before another one is asked as well. */
const TIMEOUT_MS = 2_000;

/** The number of requests that a node leaves unanswered while a new process reads this many blocks. */
async function openQuestions(node: number, blocks: number): Promise<number> {
  const before = fixture.localnet.controls.faultsMet(node)['no-answer'] ?? 0;
  fixture.finalize(blocks);
  const pool = await openNodePool(fixture.localnet.rpcUrls, { timeoutMs: TIMEOUT_MS });
  await fixture.scanAll(new DepositScanner(fixture.deps(pool)));
  expect(await new DepositConfirmer(fixture.deps(pool)).confirm()).toBe(1);
  await pool.close();
  return (fixture.localnet.controls.faultsMet(node)['no-answer'] ?? 0) - before;
}

it.each([0, 1, 2])(
  'one silent node of three does not delay the scan, and node %i is not asked for each block',
  async (node) => {
    await fixture.scanAll(fixture.scanner());
    const wallet = await fixture.newDepositAddress();
    await fixture.localnet.airdrop(wallet, 5_000_000n);
    fixture.localnet.controls.setFault(node, '*', { kind: 'no-answer' });
    // Tips and lists of each read, and requests before the pool knows that the node is silent; never each of the blocks.
    const blocks = 40;
    expect(await openQuestions(node, blocks)).toBeLessThan(blocks);
    expect((await fixture.ledger.scan.cursor())?.slot).toBe(
      BigInt(fixture.localnet.controls.chain.at('finalized').slot),
    );
  },
);
