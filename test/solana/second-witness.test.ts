import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { Chain } from '../../src/solana/chain.ts';
import { askHeights } from '../../src/solana/heights.ts';
import { secondOutcome } from '../../src/solana/investigation.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';

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

describe('with three nodes', () => {
  it('a second one without history does not hide what the third one shows', async () => {
    const signature = await localnet.airdrop(localnet.plantedMint.address, 1_000_000n);
    const [witness, silent, other] = pool.nodes.map((node) => node.name);
    localnet.controls.setFault(1, 'getTransaction', { kind: 'null' });

    const outcome = await secondOutcome(new Chain(pool), witness ?? '', signature);
    expect(outcome).toMatchObject({ node: other, error: null });
    expect(outcome?.node).not.toBe(silent);
  });

  it.each([{ preBalances: ['1.5'] }, { postTokenBalances: 'none' }, { logMessages: [7] }])(
    'a second one bears witness although a field that nobody reads is odd: %j',
    async (odd) => {
      const [witness, second] = pool.nodes.map((node) => node.name);
      const result = { slot: 5, meta: { err: null, fee: 5_000, preBalances: [], postBalances: [], ...odd } };
      for (const node of [1, 2])
        localnet.controls.setFault(node, 'getTransaction', { kind: 'result', result });
      const outcome = await secondOutcome(new Chain(pool), witness ?? '', '1'.repeat(64));
      expect(outcome).toEqual({ node: second, slot: 5n, error: null, feeLamports: 5_000n });
    },
  );

  it('a first one that stands still does not hide that the chain went on', async () => {
    const highest = async () =>
      (await askHeights(pool, 'finalized')).reduce((top, { answer }) => (answer > top ? answer : top), 0n);
    const before = await highest();
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'result', result: 1 });
    localnet.controls.produceSlots(3);
    expect(await highest()).toBe(before + 3n);
  });

  it('nobody is a second witness where all others are silent', async () => {
    const signature = await localnet.airdrop(localnet.plantedMint.address, 2_000_000n);
    for (const node of [1, 2]) localnet.controls.setFault(node, 'getTransaction', { kind: 'null' });
    expect(await secondOutcome(new Chain(pool), pool.nodes[0]?.name ?? '', signature)).toBeNull();
  });
});
