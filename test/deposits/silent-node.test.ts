import { expect, it } from 'vitest';
import { DepositConfirmer } from '../../src/deposits/credits/confirm.ts';
import { DepositScanner } from '../../src/deposits/scan/scanner.ts';
import { openNodePool } from '../../src/solana/rpc/pool.ts';
import { useScanFixture } from './scan-fixture.ts';

const room = useScanFixture(3);
/** Longer than the wait for a node before another one is asked as well. */
const TIMEOUT_MS = 2_000;

/** The number of requests that a node leaves unanswered while a new process reads this many blocks. */
async function openQuestions(node: number, blocks: number): Promise<number> {
  const before = room.localnet.controls.faultsMet(node)['no-answer'] ?? 0;
  room.finalize(blocks);
  const pool = await openNodePool(room.localnet.rpcUrls, { timeoutMs: TIMEOUT_MS });
  await room.scanAll(new DepositScanner(room.deps(pool)));
  expect(await new DepositConfirmer(room.deps(pool)).confirm()).toBe(1);
  await pool.close();
  return (room.localnet.controls.faultsMet(node)['no-answer'] ?? 0) - before;
}

it.each([0, 1, 2])(
  'one silent node of three does not delay the scan, and node %i is not asked for each block',
  async (node) => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.airdrop(wallet, 5_000_000n);
    room.localnet.controls.setFault(node, '*', { kind: 'no-answer' });
    // Tips and lists of each read, and requests before the pool knows that the node is silent; never each of the blocks.
    const blocks = 40;
    expect(await openQuestions(node, blocks)).toBeLessThan(blocks);
    expect((await room.ledger.scan.cursor())?.slot).toBe(
      BigInt(room.localnet.controls.chain.at('finalized').slot),
    );
  },
);
