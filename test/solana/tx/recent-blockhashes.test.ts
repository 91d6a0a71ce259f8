import { beforeAll, describe, expect, it } from 'vitest';
import { getBlockHeight, getLatestBlockhash } from '../../../src/solana/rpc/methods.ts';
import { RECENT_BLOCKHASHES_SYSVAR, RecentBlockhashes } from '../../../src/solana/tx/recent-blockhashes.ts';
import { useLandingFixture } from '../landing-fixture.ts';

const fixture = useLandingFixture(undefined, 1);
beforeAll(async () => {
  fixture.localnet.controls.produceSlots(200);
});

describe('the blocks that a blockhash has left', () => {
  it('end at its last valid height, while a node lists it', async () => {
    const { pool, localnet } = fixture;
    const { value } = await pool.read((node) => getLatestBlockhash(node));
    const left = () => new RecentBlockhashes(pool).blocksLeft(value.blockhash);
    for (const more of [0, 1, 129, 18, 1]) {
      localnet.controls.produceSlots(more);
      const height = await pool.read((node) => getBlockHeight(node, 'confirmed'));
      expect(await left()).toBe(Number(value.lastValidBlockHeight - height));
    }
    expect(await left()).toBe(1);
    localnet.controls.produceSlots(1);
    expect(await left()).toBeNull();
  });

  it('are unknown without an answer or for an invalid hash, and the next caller asks again', async () => {
    const { pool, localnet } = fixture;
    const { value } = await pool.read((node) => getLatestBlockhash(node));
    const recent = new RecentBlockhashes(pool);
    localnet.controls.setFault(0, 'getMultipleAccounts', { kind: 'error', code: -32603, message: 'no' });
    expect(await recent.blocksLeft(value.blockhash)).toBeNull();
    localnet.controls.clearFaults();
    expect(await recent.blocksLeft(value.blockhash)).toBe(150);
    expect(await recent.blocksLeft(RECENT_BLOCKHASHES_SYSVAR)).toBeNull();
  });
});
