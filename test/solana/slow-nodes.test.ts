import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { u64 } from '../../src/solana/rpc/schemas.ts';

let localnet: Localnet;
let pool: NodePool;
let now = 0;

beforeEach(async () => {
  now = 0;
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3 });
  pool = await openNodePool(localnet.rpcUrls, { timeoutMs: 60_000, now: () => now });
});
afterEach(async () => {
  await pool.close();
  await localnet.close();
});

const height = () => pool.read((node) => node.call('getBlockHeight', [], u64));
const agreedHeight = () =>
  pool.agreed(
    (node) => node.call('getBlockHeight', [], u64),
    (one, other) => one === other,
  );
const calls = () => pool.nodes.map(({ callCount }) => callCount);
const names = () => pool.nodes.map(({ name }) => name);
const causes = () => pool.report().map(({ demotion }) => demotion?.cause);

it('a late node is overtaken by the next node, asked last for a minute, and tried again', async () => {
  localnet.controls.setFault(0, 'getBlockHeight', { kind: 'no-answer' });
  const first = await height();
  expect(causes()).toEqual(['slow', undefined, undefined]);
  expect(await height()).toBe(first);
  expect(calls()).toEqual([1, 2, 0]);
  localnet.controls.clearFaults();
  now = 60_000;
  expect(await height()).toBe(first);
  expect(calls()).toEqual([2, 2, 0]);
});

it('a late node blocks no quorum request', async () => {
  localnet.controls.setFault(0, 'getBlockHeight', { kind: 'no-answer' });
  const [, second, third] = names();
  expect((await agreedHeight())?.nodes).toEqual([second, third]);
  expect((await agreedHeight())?.nodes).toEqual([second, third]);
  expect(calls()).toEqual([1, 2, 2]);
});

it('no node receives twice the requests because all are late', async () => {
  for (const node of [0, 1, 2])
    localnet.controls.setFault(node, 'getBlockHeight', { kind: 'delay', ms: 2_000 });
  const questions = 40;
  await Promise.all(Array.from({ length: questions }, height));
  const [first = 0, second = 0, third = 0] = calls();
  expect(first).toBe(questions);
  expect(second + third).toBeGreaterThan(0);
  expect(second + third).toBeLessThanOrEqual(questions / 4);
  expect(causes()).toEqual([undefined, undefined, undefined]);
});

it('answers that disagree are put to one more node, and a node that agrees in vain to all', async () => {
  localnet.controls.setFault(0, 'getBlockHeight', { kind: 'height-offset', blocks: 3 });
  const [, second, third] = names();
  expect((await agreedHeight())?.nodes).toEqual([second, third]);
  localnet.controls.setFault(1, 'getBlockHeight', { kind: 'height-offset', blocks: 5 });
  expect(await agreedHeight()).toBeNull();
  expect(calls()).toEqual([2, 2, 2]);
});
