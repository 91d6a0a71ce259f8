import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../../devkit/localnet/localnet.ts';
import { proveLanded, secondOutcome } from '../../../src/solana/proof/confirm-outcome.ts';
import { askHeights } from '../../../src/solana/proof/heights.ts';
import { NodeFault } from '../../../src/solana/rpc/errors.ts';
import { type NodePool, openNodePool } from '../../../src/solana/rpc/pool.ts';
import { quickChain } from '../../support/quick-chain.ts';

let localnet: Localnet;
let pool: NodePool;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 3 });
  pool = await openNodePool(localnet.rpcUrls);
});
afterEach(() => localnet.controls.clearFaults());
afterAll(async () => {
  await pool.close();
  await localnet.close();
});

/** The outcome of the first node, which another node must confirm. */
function reported(slot: bigint) {
  const answer = { kind: 'seen', commitment: 'finalized', slot, error: null, atSlot: null } as const;
  return { node: pool.nodes[0]?.name ?? '', answer };
}

describe('an outcome in a pool of three nodes', () => {
  it('is confirmed by the third node when the second returns another outcome', async () => {
    const signature = await localnet.airdrop(localnet.plantedMint.address, 3_000_000n);
    localnet.controls.produceSlots(8);
    const slot = BigInt(localnet.controls.chain.ledger.record(signature)?.slot ?? 0);
    const wrong = { slot: 3, meta: { err: null, fee: 5_000 } };
    localnet.controls.setFault(1, 'getTransaction', { kind: 'result', result: wrong });
    const chain = quickChain(pool);
    const [, liar, third] = pool.nodes.map((node) => node.name);
    expect(await secondOutcome(chain, reported(slot), signature)).toMatchObject({ node: third, slot });
    localnet.controls.setFault(2, 'getTransaction', { kind: 'null' });
    expect(await secondOutcome(chain, reported(slot), signature)).toMatchObject({ node: liar, slot: 3n });
  });

  it('is confirmed by the third node when the second has no history', async () => {
    const signature = await localnet.airdrop(localnet.plantedMint.address, 1_000_000n);
    const [, silent, other] = pool.nodes.map((node) => node.name);
    localnet.controls.setFault(1, 'getTransaction', { kind: 'null' });

    const outcome = await secondOutcome(quickChain(pool), reported(0n), signature);
    expect(outcome).toMatchObject({ node: other, error: null });
    expect(outcome?.node).not.toBe(silent);
  });

  it.each([{ preBalances: ['1.5'] }, { postTokenBalances: 'none' }, { logMessages: [7] }])(
    'is confirmed by a second node although an unused field is malformed: %j',
    async (odd) => {
      const [, second] = pool.nodes.map((node) => node.name);
      const result = { slot: 5, meta: { err: null, fee: 5_000, preBalances: [], postBalances: [], ...odd } };
      for (const node of [1, 2])
        localnet.controls.setFault(node, 'getTransaction', { kind: 'result', result });
      const outcome = await secondOutcome(quickChain(pool), reported(5n), '1'.repeat(64));
      const spending = { feeLamports: 5_000n, spentLamports: null, tokenChanges: null };
      expect(outcome).toEqual({ node: second, slot: 5n, error: null, spending });
    },
  );

  it('is confirmed at a newer slot when the first node does not advance', async () => {
    const highest = async () =>
      (await askHeights(pool, 'finalized')).reduce((top, { answer }) => (answer > top ? answer : top), 0n);
    const before = await highest();
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'result', result: 1 });
    localnet.controls.produceSlots(3);
    expect(await highest()).toBe(before + 3n);
  });

  it('is not confirmed when all other nodes do not answer', async () => {
    const signature = await localnet.airdrop(localnet.plantedMint.address, 2_000_000n);
    for (const node of [1, 2]) localnet.controls.setFault(node, 'getTransaction', { kind: 'null' });
    expect(await secondOutcome(quickChain(pool), reported(0n), signature)).toBeNull();
  });
});

describe('one node of three is not believed alone about', () => {
  const RENT = 'getMinimumBalanceForRentExemption';
  const CHEAP_OR_DEAR = [0, 1_000_000_000_000];

  it.each(CHEAP_OR_DEAR)('a rent minimum of %i lamports', async (lamports) => {
    const honest = await quickChain(pool).rentMinimum(0);
    localnet.controls.setFault(0, RENT, { kind: 'result', result: lamports });
    expect(await quickChain(pool).rentMinimum(0)).toBe(honest);
    localnet.controls.setFault(1, RENT, { kind: 'http', status: 500 });
    await expect(quickChain(pool).rentMinimum(0)).rejects.toMatchObject({ code: 'NoHealthyNode' });
  });

  it('the current epoch', async () => {
    const honest = await quickChain(pool).epoch();
    const result = { absoluteSlot: 9, blockHeight: 9, epoch: 9_000, slotIndex: 0, slotsInEpoch: 432_000 };
    localnet.controls.setFault(0, 'getEpochInfo', { kind: 'result', result });
    expect(await quickChain(pool).epoch()).toBe(honest);
  });
});

describe('a landing is not proved', () => {
  const failing = (error: Error) =>
    ({ quorum: 2, all: async () => [], agreed: () => Promise.reject(error) }) as unknown as NodePool;

  it('when nodes fail', async () => {
    expect(await proveLanded(failing(new NodeFault('a', 'hangs up')), 'signature', 1n)).toBeNull();
  });

  it('nor refused when Sluice code fails', async () => {
    await expect(proveLanded(failing(new TypeError('a defect')), 'signature', 1n)).rejects.toThrow(
      'a defect',
    );
  });
});
