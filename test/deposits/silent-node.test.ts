import { expect, it } from 'vitest';
import { useScanRoom } from './scan-room.ts';

const room = useScanRoom(3);

/** Questions that a node leaves open while the scan reads so many blocks. */
async function openQuestions(node: number, blocks: number): Promise<number> {
  const before = room.localnet.controls.faultsMet(node)['no-answer'] ?? 0;
  room.finalize(blocks);
  await room.scanAll(room.scanner());
  return (room.localnet.controls.faultsMet(node)['no-answer'] ?? 0) - before;
}

it.each([0, 1, 2])(
  'one silent node of three holds up nothing: node %i is not asked for each block',
  async (node) => {
    await room.scanAll(room.scanner());
    const wallet = await room.newDepositAddress();
    await room.localnet.airdrop(wallet, 5_000_000n);
    room.localnet.controls.setFault(node, '*', { kind: 'no-answer' });
    // Tips and lists of the looks, and what comes before it is known to be silent; never each of the blocks.
    const blocks = 40;
    expect(await openQuestions(node, blocks)).toBeLessThan(blocks);
    expect(await room.confirm()).toBe(1);
    expect((await room.ledger.scan.cursor())?.slot).toBe(
      BigInt(room.localnet.controls.chain.at('finalized').slot),
    );
  },
);
