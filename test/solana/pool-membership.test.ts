import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { rpcCalls } from './rpc-calls.ts';

const ELSEWHERE = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';

let localnet: Localnet;
let pool: NodePool | null = null;
let notices: string[] = [];

beforeEach(async () => {
  notices = [];
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
});
afterEach(async () => {
  await pool?.close();
  pool = null;
  await localnet.close();
});

async function open(): Promise<NodePool> {
  pool = await openNodePool(localnet.rpcUrls, {
    now: () => 0,
    onNotice: (notice) => notices.push(notice),
  });
  return pool;
}

const memberships = (nodes: NodePool) => nodes.report().map(({ membership }) => membership);
const names = (nodes: NodePool) => nodes.nodes.map(({ name }) => name);
const askedNames = async (nodes: NodePool) =>
  (await nodes.all(async (node) => node.name)).flatMap(({ result }) =>
    result.status === 'fulfilled' ? [result.value] : [],
  );
const otherCluster = { kind: 'result', result: ELSEWHERE } as const;

describe('URLs of the same identity', () => {
  const byName = (url = '') => url.replace('127.0.0.1', 'localhost');

  it('are one node, which serves alone on loopback and needs no second node', async () => {
    const [first = ''] = localnet.rpcUrls;
    pool = await openNodePool([first, byName(first)]);
    expect(pool.quorum).toBe(1);
    expect(memberships(pool)).toEqual(['joined', 'refused']);
    const [kept = '', same = ''] = names(pool);
    expect(pool.report()[1]).toMatchObject({ sameAs: kept });
    expect(pool.warnings().map(({ kind, node }) => [kind, node])).toContainEqual(['node_twice', same]);
    expect(await askedNames(pool)).toEqual([kept]);
    const second = await pool.second(
      kept,
      async (node) => node.name,
      () => true,
    );
    expect(second?.node).toBe(kept);
  });

  it('never make a quorum of two', async () => {
    const [first = '', second = ''] = localnet.rpcUrls;
    pool = await openNodePool([first, byName(first), second]);
    expect(pool.quorum).toBe(2);
    expect(memberships(pool)).toEqual(['joined', 'refused', 'joined']);
    await pool.close();
    localnet.controls.setFault(1, '*', { kind: 'http', status: 503 });
    const opened = openNodePool([first, byName(first), second]);
    await expect(opened).rejects.toThrow(/the same node as/);
    pool = null;
  });

  it('stay two nodes once they joined as two, and one lying node removes no other', async () => {
    const nodes = await open();
    const identity = { identity: '1'.repeat(32) };
    for (const node of [0, 1])
      localnet.controls.setFault(node, 'getIdentity', { kind: 'result', result: identity });
    await nodes.probe();
    expect(memberships(nodes)).toEqual(['joined', 'joined', 'joined']);
  });

  it('are ignored when nodes do not report an identity', async () => {
    for (const node of [0, 1, 2])
      localnet.controls.setFault(node, 'getIdentity', { kind: 'http', status: 503 });
    expect(memberships(await open())).toEqual(['joined', 'joined', 'joined']);
  });
});

describe('a node that is down when the pool opens', () => {
  it('does not stop the start, counts for the quorum, and joins when it answers', async () => {
    localnet.controls.setFault(2, '*', { kind: 'http', status: 503 });
    const nodes = await open();
    expect(nodes.quorum).toBe(2);
    expect(memberships(nodes)).toEqual(['joined', 'joined', 'silent']);
    expect(nodes.report()[2]?.demotion).toMatchObject({
      cause: 'silent',
      reason: expect.stringContaining('HTTP 503'),
    });
    expect(await askedNames(nodes)).toEqual(names(nodes).slice(0, 2));
    localnet.controls.clearFaults();
    await nodes.probe();
    expect(memberships(nodes)).toEqual(['joined', 'joined', 'joined']);
    expect(await askedNames(nodes)).toEqual(names(nodes));
    expect(notices).toEqual([
      expect.stringContaining(`${names(nodes)[2]} does not answer: `),
      `${names(nodes)[2]} answers now and has joined the pool`,
    ]);
  });

  it('joins by the probe interval alone', async () => {
    localnet.controls.setFault(2, '*', { kind: 'http', status: 503 });
    pool = await openNodePool(localnet.rpcUrls, { probeMs: 20 });
    localnet.controls.clearFaults();
    await expect.poll(() => pool?.report()[2]?.membership, { timeout: 30_000 }).toBe('joined');
  });

  it('causes a new warning each time it goes down', async () => {
    const nodes = await open();
    for (let outage = 0; outage < 2; outage += 1) {
      for (const node of [1, 2]) localnet.controls.setFault(node, '*', { kind: 'http', status: 503 });
      await nodes.probe();
      await nodes.probe();
      localnet.controls.clearFaults();
      await nodes.probe();
    }
    expect(notices).toEqual(Array(2).fill('1 of 3 RPC nodes answers: run at least two'));
    expect(memberships(nodes)).toEqual(['joined', 'joined', 'joined']);
  });

  it('stops the start when too few configured nodes answer, and the error gives names and reasons', async () => {
    for (const node of [1, 2]) localnet.controls.setFault(node, '*', { kind: 'http', status: 503 });
    await expect(open()).rejects.toMatchObject({
      code: 'NoHealthyNode',
      message: expect.stringMatching(/fewer than 2 of 3 RPC nodes.*HTTP 503/),
    });
  });
});

describe('a node of another cluster', () => {
  it('is refused permanently when the others form a quorum, and receives no request', async () => {
    localnet.controls.setFault(0, 'getGenesisHash', otherCluster);
    const nodes = await open();
    expect(memberships(nodes)).toEqual(['refused', 'joined', 'joined']);
    localnet.controls.clearFaults();
    await nodes.probe();
    expect(nodes.report()[0]).toMatchObject({
      membership: 'refused',
      demotion: { cause: 'refused' },
      score: 0,
    });
    expect(notices).toEqual([
      expect.stringContaining(`${names(nodes)[0]} belongs to the cluster with genesis hash ${ELSEWHERE}`),
    ]);
    expect(await askedNames(nodes)).toEqual(names(nodes).slice(1));
    expect(await nodes.read(async (node) => node.name)).toBe(names(nodes)[1]);
  });

  it('is refused when it comes late', async () => {
    localnet.controls.setFault(2, '*', { kind: 'http', status: 503 });
    const nodes = await open();
    localnet.controls.clearFaults();
    localnet.controls.setFault(2, 'getGenesisHash', otherCluster);
    await nodes.probe();
    expect(memberships(nodes)).toEqual(['joined', 'joined', 'refused']);
  });

  it('is refused when it changes cluster, and the quorum stays the same', async () => {
    const nodes = await open();
    localnet.controls.setFault(0, 'getGenesisHash', otherCluster, 1);
    await nodes.probe();
    await nodes.probe();
    expect(memberships(nodes)).toEqual(['refused', 'joined', 'joined']);
    localnet.controls.setFault(1, 'getGenesisHash', otherCluster, 1);
    await nodes.probe();
    expect(nodes.quorum).toBe(2);
    expect(await askedNames(nodes)).toHaveLength(1);
  });
});

describe('the cluster of a pool', () => {
  it('is passed to the caller of the pool, whose refusal ends the start', async () => {
    const asked: string[] = [];
    const admit = (genesisHash: string): void => {
      asked.push(genesisHash);
      throw new Error('not this one');
    };
    await expect(openNodePool(localnet.rpcUrls, { admit })).rejects.toThrow('not this one');
    expect(asked).toEqual([(await open()).genesisHash]);
  });

  it('is confirmed by a quorum of the nodes that return it now, without a probe', async () => {
    const nodes = await open();
    localnet.controls.setFault(0, 'getGenesisHash', otherCluster);
    await nodes.confirmCluster();
    expect(memberships(nodes)).toEqual(['refused', 'joined', 'joined']);
    localnet.controls.setFault(1, 'getGenesisHash', { kind: 'http', status: 503 });
    await expect(nodes.confirmCluster()).rejects.toMatchObject({
      code: 'NoHealthyNode',
      message: expect.stringContaining('1 of 3 RPC nodes return the genesis hash'),
    });
    expect(memberships(nodes)).toEqual(['refused', 'joined', 'joined']);
  });
});

describe('a probe', () => {
  it('reads the identity, the history and the slot of a node', async () => {
    const nodes = await open();
    localnet.controls.produceSlots(3);
    await nodes.probe();
    const tip = BigInt(localnet.controls.chain.ledger.tip.slot);
    expect(nodes.report()[0]).toMatchObject({
      version: '3.0.0',
      history: 'on',
      firstAvailableBlock: BigInt(localnet.controls.chain.ledger.first.slot),
      finalizedSlot: tip - 2n,
      lagSlots: 0n,
      missingMethods: ['getFeeCalculatorForBlockhash', 'getFees'],
      score: 100,
      demotion: null,
      calls: 0,
    });
    expect(nodes.warnings()).toEqual([]);
    expect(rpcCalls(nodes)).toBe(0);
  });

  it('warns of disabled history, at the next probe or the next request', async () => {
    const off = { kind: 'error', code: -32011, message: 'Transaction history is not available' } as const;
    localnet.controls.setFault(0, 'getTransaction', off);
    const nodes = await open();
    const rules = () => nodes.warnings().map(({ kind, node }) => `${kind} ${node}`);
    expect(rules()).toEqual([`node_history_off ${names(nodes)[0]}`]);
    localnet.controls.setFault(1, 'getSignatureStatuses', off, 1);
    await nodes.all((node) => node.call('getSignatureStatuses', [[]], z.unknown()));
    expect(rules()).toContain(`node_history_off ${names(nodes)[1]}`);
    expect(notices).toEqual([expect.stringContaining('--enable-rpc-transaction-history')]);
  });

  it('names a node that started from a snapshot and lacks needed blocks, while it lacks them', async () => {
    localnet.controls.produceSlots(30);
    const snapshot = localnet.controls.produceSlot();
    localnet.controls.setFault(1, '*', { kind: 'history-from', slot: snapshot });
    localnet.controls.produceSlots(5);
    const nodes = await open();
    expect(nodes.warnings(BigInt(snapshot) - 1n)).toMatchObject([
      {
        kind: 'node_ledger_gap',
        node: names(nodes)[1],
        message: expect.stringContaining(`before slot ${snapshot}`),
      },
    ]);
    expect(nodes.warnings(BigInt(snapshot))).toEqual([]);
    expect(nodes.warnings()).toEqual([]);
  });

  it('warns of a version behind the others, and tests the methods of a changed version again', async () => {
    const nodes = await open();
    const updated = { kind: 'result', result: { 'solana-core': '3.1.2', 'feature-set': 1 } } as const;
    const gone = { kind: 'error', code: -32601, message: 'Method not found' } as const;
    for (const node of [0, 1]) localnet.controls.setFault(node, 'getVersion', updated);
    localnet.controls.setFault(0, 'isBlockhashValid', gone);
    await nodes.probe();
    expect(nodes.warnings()).toMatchObject([{ kind: 'node_version_behind', node: names(nodes)[2] }]);
    expect(nodes.report()[0]?.missingMethods).toContain('isBlockhashValid');
  });
});

describe('a read from most nodes', () => {
  const heights = async (nodes: NodePool) =>
    (await nodes.most((node) => node.call('getBlockHeight', [], z.unknown()))).map(({ result }) => result);

  it('returns all answers when all nodes answer, and skips a node that is down', async () => {
    const nodes = await open();
    expect((await heights(nodes)).map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'));
    localnet.controls.setFault(1, 'getBlockHeight', { kind: 'http', status: 503 });
    expect((await heights(nodes)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
  });

  it('does not wait for a node with a fault, and names it', async () => {
    const nodes = await open();
    localnet.controls.setFault(1, 'getBlockHeight', { kind: 'http', status: 503 }, 1);
    await heights(nodes);
    localnet.controls.setFault(1, 'getBlockHeight', { kind: 'no-answer' });
    // So the half second for late nodes does not end.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    expect((await heights(nodes))[1]).toMatchObject({
      reason: {
        code: 'NodeFault',
        message: expect.stringContaining('had not answered when the wait for a quorum ended'),
      },
    });
  });
});
