import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../../src/localnet/localnet.ts';
import { type NodePool, openNodePool } from '../../../src/solana/rpc/pool.ts';
import { HeldSlots } from '../../../src/solana/scan/held-slots.ts';

const FINALITY_LAG = 2;
/** Slots 1 to 10 have blocks, 11 to 30 have none, 31 and some more have. */
const END = { from: 31n, to: 33n };

let localnet: Localnet;
let pool: NodePool;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: FINALITY_LAG, nodes: 3 });
  const { controls } = localnet;
  while (controls.produceSlot() < 10);
  controls.skipSlots(20);
  controls.produceSlots(6 + FINALITY_LAG);
  pool = await openNodePool(localnet.rpcUrls);
});
afterEach(() => localnet.controls.clearFaults());
afterAll(async () => {
  await pool?.close();
  await localnet?.close();
});

/** The places, in their order, of the nodes that show all blocks of these slots. */
async function holders(from: bigint, to: bigint, held = new HeldSlots()): Promise<readonly number[]> {
  const { holding } = await held.holdersOf(pool, { from, to });
  return pool.nodes.flatMap(({ name }, place) => (holding.has(name) ? [place] : []));
}

describe('the nodes that have every block of some slots', () => {
  it('are all where none has lost any, from the first slot of the chain on', async () => {
    for (const from of [0n, 1n, 4n]) expect(await holders(from, 9n)).toEqual([0, 1, 2]);
    expect(await holders(END.from, END.to)).toEqual([0, 1, 2]);
  });

  it('are those that show the blocks around slots that the chain has skipped', async () => {
    expect(await holders(11n, 30n)).toEqual([0, 1, 2]);
    expect(await holders(15n, 20n)).toEqual([0, 1, 2]);
    localnet.controls.setFault(1, '*', { kind: 'hole', from: 31, to: 31 });
    expect(await holders(11n, 30n)).toEqual([0, 2]);
  });

  it('are not those with a hole at the beginning, in the middle, at the end, or around all of them', async () => {
    for (const [from, to] of [
      [3, 4],
      [5, 6],
      [8, 9],
      [2, 10],
      [1, 40],
    ] as const) {
      localnet.controls.setFault(1, '*', { kind: 'hole', from, to });
      expect(await holders(3n, 9n)).toEqual([0, 2]);
      localnet.controls.clearFaults();
    }
  });

  it('are not those that forgot the first of them, or have not come to the last', async () => {
    localnet.controls.setFault(0, '*', { kind: 'history-from', slot: 5 });
    localnet.controls.setFault(2, '*', { kind: 'stuck-finality', slot: 8 });
    expect(await holders(4n, 9n)).toEqual([1]);
    expect(await holders(5n, 8n)).toEqual([0, 1, 2]);
  });

  it('are found by short lists, too', async () => {
    for (const node of [0, 1, 2])
      localnet.controls.setFault(node, 'getBlocks', { kind: 'list-limit', slots: 600 });
    expect(await holders(1n, END.to)).toEqual([0, 1, 2]);
  });
});

describe('what was asked before', () => {
  it('stands for ten minutes, of parts too, where the blocks are there, and for one where they are not', async () => {
    let now = 0;
    const held = new HeldSlots(() => now);
    localnet.controls.setFault(0, '*', { kind: 'hole', from: 5, to: 6 });
    expect(await holders(7n, 9n, held)).toEqual([0, 1, 2]);
    expect(await holders(3n, 9n, held)).toEqual([1, 2]);
    localnet.controls.clearFaults();
    localnet.controls.setFault(1, '*', { kind: 'hole', from: 5, to: 6 });
    expect(await holders(3n, 9n, held)).toEqual([1, 2]);
    now = 61_000;
    expect(await holders(4n, 8n, held)).toEqual([0, 1, 2]);
    now = 601_000;
    expect(await holders(3n, 9n, held)).toEqual([0, 2]);
  });

  it('is nothing of a node that does not answer: it is asked by the next question', async () => {
    const held = new HeldSlots();
    const [first] = pool.nodes;
    localnet.controls.setFault(0, 'getBlocks', { kind: 'http', status: 503 });
    const { holding, silent } = await held.holdersOf(pool, END);
    expect([holding.size, [...silent]]).toEqual([2, [first?.name]]);
    localnet.controls.clearFaults();
    await pool.probe();
    expect(await holders(END.from, END.to, held)).toEqual([0, 1, 2]);
  });
});
