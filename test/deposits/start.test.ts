import { expect, it } from 'vitest';
import { startBlock } from '../../src/solana/scan/start.ts';
import { useScanFixture } from './scan-fixture.ts';

const fixture = useScanFixture();
const NODES = [0, 1];
/** The gap of a cluster that halted for hours, or of ledgers that begin later. */
const EMPTY_SLOTS = 30_000;

/** No node lists the blocks of more slots at once. */
function limitLists(slots: number): void {
  for (const node of NODES) fixture.localnet.controls.setFault(node, '*', { kind: 'list-limit', slots });
}

/** Slots without a block, then some blocks; returns the last slot before them. */
function standstill(): bigint {
  const { controls } = fixture.localnet;
  const last = controls.produceSlot();
  controls.skipSlots(EMPTY_SLOTS);
  fixture.finalize(6);
  return BigInt(last);
}

it.each([10_000, 4_000, 700])(
  'a scan starts at an old slot although no node lists more than %i slots at once',
  async (slots) => {
    const last = standstill();
    limitLists(slots);
    expect((await startBlock(fixture.pool, last + 1n)).slot).toBe(last);
    expect((await startBlock(fixture.pool, last + 20_000n)).slot).toBe(last);
  },
);

it('a scan continues over as many slots without a block', async () => {
  const last = fixture.localnet.controls.produceSlot();
  const wallet = await fixture.newDepositAddress();
  await fixture.localnet.airdrop(wallet, 3_000_000n);
  standstill();
  await fixture.localnet.airdrop(wallet, 4_000_000n);
  fixture.finalize();
  limitLists(10_000);
  expect((await fixture.scanAll(fixture.scanner(BigInt(last)))).state).toBe('idle');
  expect((await fixture.depositsOf(wallet)).map(({ amount }) => amount)).toEqual([4_000_000n, 3_000_000n]);
  expect(await fixture.chainLength()).toBeGreaterThan(9);
});

it('a scan waits for nodes that refuse to list slots, and does not report their blocks as missing', async () => {
  const last = standstill();
  const refusal = { kind: 'error', code: -32602, message: 'not for you' } as const;
  fixture.localnet.controls.setFault(1, 'getBlocks', refusal);
  fixture.localnet.controls.setFault(0, '*', { kind: 'history-from', slot: Number(last) + EMPTY_SLOTS + 3 });
  await expect(startBlock(fixture.pool, last)).rejects.toMatchObject({
    code: 'NoHealthyNode',
    message: expect.stringMatching(/^the scan cannot begin at slot .*not for you$/),
  });
});

it('a scan reports that every node’s history starts after its first slot', async () => {
  const last = standstill();
  for (const node of NODES)
    fixture.localnet.controls.setFault(node, '*', {
      kind: 'history-from',
      slot: Number(last) + EMPTY_SLOTS + 3,
    });
  await expect(startBlock(fixture.pool, last)).rejects.toMatchObject({ code: 'NotFound' });
});
