import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Localnet, startLocalnet } from '../../../devkit/localnet/localnet.ts';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { LedgerCompleteness } from '../../../src/solana/history/ledger-completeness.ts';
import { areComplete, historyOf } from '../../../src/solana/history/token-accounts.ts';
import { WalletLists } from '../../../src/solana/history/wallet-signatures.ts';
import type { SolanaNode } from '../../../src/solana/rpc/node.ts';
import { type NodePool, openNodePool } from '../../../src/solana/rpc/pool.ts';

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
afterEach(() => {
  vi.restoreAllMocks();
  localnet.controls.clearFaults();
});
afterAll(async () => {
  await pool?.close();
  await localnet?.close();
});

/** The places, in their order, of the nodes that show all blocks of these slots. */
async function holders(
  from: bigint,
  to: bigint,
  completeness = new LedgerCompleteness(),
): Promise<readonly number[]> {
  const { complete: holding } = await completeness.findCompleteNodes(pool, { from, to });
  return pool.nodes.flatMap(({ name }, place) => (holding.has(name) ? [place] : []));
}

describe('the nodes with every block of a slot range', () => {
  it('are all nodes when none lost a block, from the first slot of the chain', async () => {
    for (const from of [0n, 1n, 4n]) expect(await holders(from, 9n)).toEqual([0, 1, 2]);
    expect(await holders(END.from, END.to)).toEqual([0, 1, 2]);
  });

  it('are those that return the blocks around skipped slots', async () => {
    expect(await holders(11n, 30n)).toEqual([0, 1, 2]);
    expect(await holders(15n, 20n)).toEqual([0, 1, 2]);
    localnet.controls.setFault(1, '*', { kind: 'hole', from: 31, to: 31 });
    expect(await holders(11n, 30n)).toEqual([0, 2]);
  });

  it('exclude nodes with a hole at the beginning, in the middle, at the end, or around the range', async () => {
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

  it('exclude nodes that lost the first slot, or have not reached the last', async () => {
    localnet.controls.setFault(0, '*', { kind: 'history-from', slot: 5 });
    localnet.controls.setFault(2, '*', { kind: 'stuck-finality', slot: 8 });
    expect(await holders(4n, 9n)).toEqual([1]);
    expect(await holders(5n, 8n)).toEqual([0, 1, 2]);
  });

  it('are also found by short lists', async () => {
    for (const node of [0, 1, 2])
      localnet.controls.setFault(node, 'getBlocks', { kind: 'list-limit', slots: 600 });
    expect(await holders(1n, END.to)).toEqual([0, 1, 2]);
  });
});

describe('a cached completeness answer', () => {
  it('is kept for ten minutes if the blocks are there, and for one minute if not', async () => {
    let now = 0;
    const completeness = new LedgerCompleteness(() => now);
    localnet.controls.setFault(0, '*', { kind: 'hole', from: 5, to: 6 });
    expect(await holders(3n, 9n, completeness)).toEqual([1, 2]);
    localnet.controls.clearFaults();
    localnet.controls.setFault(1, '*', { kind: 'hole', from: 5, to: 6 });
    expect(await holders(3n, 9n, completeness)).toEqual([1, 2]);
    now = 61_000;
    expect(await holders(3n, 9n, completeness)).toEqual([0, 1, 2]);
    now = 601_000;
    expect(await holders(3n, 9n, completeness)).toEqual([0, 2]);
  });

  it('expires on time when the clock is set back', async () => {
    const clock = { date: Date.now(), run: performance.now() };
    vi.spyOn(Date, 'now').mockImplementation(() => clock.date);
    vi.spyOn(performance, 'now').mockImplementation(() => clock.run);
    const completeness = new LedgerCompleteness();
    localnet.controls.setFault(1, '*', { kind: 'hole', from: 5, to: 6 });
    expect(await holders(3n, 9n, completeness)).toEqual([0, 2]);
    localnet.controls.clearFaults();
    clock.date -= 86_400_000;
    clock.run += 61_000;
    expect(await holders(3n, 9n, completeness)).toEqual([0, 1, 2]);
  });

  it.each([
    ['has them all', 0n, 4_000, 220],
    ['has lost the first of them', 90_000_000n, 500, 4],
  ])('is shared by all accounts, however long a node takes that %s', async (_name, first, stepMs, most) => {
    const clock = { now: 0, asked: 0 };
    const { node, asPool } = sparseNode(first, stepMs, clock);
    const completeness = new LedgerCompleteness(() => clock.now);
    const slots = { from: 1n, to: 100_000_000n };
    const [one, other] = await Promise.all([1, 2].map(() => completeness.findCompleteNodes(asPool, slots)));
    const walk = clock.asked;
    expect(walk).toBeLessThanOrEqual(most);
    expect(await completeness.findCompleteNodes(asPool, slots)).toEqual(one);
    expect(one?.complete.has(node.name)).toBe(first === 0n);
    expect([other, clock.asked]).toEqual([one, walk]);
  });

  it('is requested again, once for all, by callers that need a current answer', async () => {
    const clock = { now: 0, asked: 0 };
    const { asPool } = sparseNode(0n, 1, clock);
    const completeness = new LedgerCompleteness(() => clock.now);
    const slots = { from: 1n, to: 1_000_000n };
    await completeness.findCompleteNodes(asPool, slots);
    const walk = clock.asked;
    const ask = () => completeness.findCompleteNodesNow(asPool, slots);
    // The walk of the first caller may have passed the lost block before the others ask: these share the next walk.
    await Promise.all([ask(), ask(), ask(), completeness.findCompleteNodes(asPool, slots)]);
    expect(clock.asked).toBe(3 * walk);
  });

  it('is empty for a node that does not answer, and the next question asks that node', async () => {
    const completeness = new LedgerCompleteness();
    const [first] = pool.nodes;
    localnet.controls.setFault(0, 'getBlocks', { kind: 'http', status: 503 });
    const { complete: holding, silent } = await completeness.findCompleteNodes(pool, END);
    expect([holding.size, [...silent]]).toEqual([2, [first?.name]]);
    localnet.controls.clearFaults();
    await pool.probe();
    expect(await holders(END.from, END.to, completeness)).toEqual([0, 1, 2]);
  });
});

describe('accepted history lists', () => {
  it('of a node end where its list ends: the node does not count for later slots', async () => {
    const lists = new WalletLists();
    const read = lists.readFromNode.bind(lists);
    vi.spyOn(lists, 'readFromNode').mockImplementation(async (node, ...of) => {
      const listing = await read(node, ...of);
      return node === pool.nodes[2] ? { ...listing, coveredTo: END.from } : listing;
    });
    const nodes = { pool, lists, completeness: new LedgerCompleteness() };
    const { completeNodes } = await historyOf(nodes, newAddress(), END.from, END.to);
    expect(completeNodes).toEqual([pool.nodes.slice(0, 2).map(({ name }) => name)]);
  });

  const slots = { from: 3n, to: 9n };
  const isWholeBy = (...places: number[]) => {
    const believed = [pool.nodes, pool.nodes.filter((_, place) => places.includes(place))];
    const history = { entries: [], completeNodes: believed.map((nodes) => nodes.map(({ name }) => name)) };
    return areComplete({ pool, completeness: new LedgerCompleteness() }, slots, [history]);
  };

  it('are complete when a quorum of the nodes of each part has the blocks at the time of reading', async () => {
    expect(await isWholeBy(0, 1)).toBe(true);
    expect(await isWholeBy(0)).toBe(false);
    localnet.controls.setFault(1, '*', { kind: 'hole', from: 5, to: 6 });
    expect([await isWholeBy(0, 2), await isWholeBy(0, 1)]).toEqual([true, false]);
  });

  it('are neither complete nor refuted while some of those nodes do not answer', async () => {
    localnet.controls.setFault(1, '*', { kind: 'http', status: 503 });
    expect(await isWholeBy(0, 2)).toBe(true);
    await expect(isWholeBy(0, 1)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    localnet.controls.clearFaults();
    await pool.probe();
  });
});

/** A node of a long chain, a block in every 100,000th slot, that takes `stepMs` of `clock` for each answer; and a pool of it alone. */
function sparseNode(first: bigint, stepMs: number, clock: { now: number; asked: number }) {
  const step = 100_000n;
  const call = async (method: string, [from, to]: readonly number[] = []) => {
    clock.now += stepMs;
    clock.asked += 1;
    if (method === 'getFirstAvailableBlock') return first;
    const low = BigInt(from ?? 0);
    if (method === 'getBlock') return { parentSlot: low - step, blockHeight: low / step };
    const begin = low < first ? first : low;
    const slots: bigint[] = [];
    for (let slot = ((begin + step - 1n) / step) * step; slot <= BigInt(to ?? 0); slot += step)
      slots.push(slot);
    return slots;
  };
  const node = { name: 'sparse', call } as unknown as SolanaNode;
  const all = async (ask: (one: SolanaNode) => Promise<boolean>) => [
    { node: node.name, result: (await Promise.allSettled([ask(node)]))[0] },
  ];
  return { node, asPool: { all } as unknown as NodePool };
}
