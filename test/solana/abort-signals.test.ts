import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { NodePool } from '../../src/solana/rpc/pool.ts';
import { withAbort } from '../../src/solana/rpc/with-abort.ts';
import { WatchSet } from '../../src/solana/scan/bytes/watch-set.ts';
import type { ListedBlock } from '../../src/solana/scan/chain-reader.ts';
import { Prefetch } from '../../src/solana/scan/prefetch.ts';
import { fetchBlock } from '../../src/solana/scan/searched-block.ts';
import { closeSlowNodes, poolWithSlowNode, readBlock, SlowNode } from './slow-response-server.ts';

afterEach(closeSlowNodes);

const MIB = 1_024 * 1_024;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const untilOver = (over: AbortSignal): Promise<never> =>
  new Promise((_, reject) => over.addEventListener('abort', () => reject(over.reason)));

it('a joined signal aborts at its first source, with the reason of that source, also at a timeout without other holders', async () => {
  const never = new AbortController();
  const waiting = withAbort(untilOver, AbortSignal.timeout(300), never.signal, undefined);
  // An object of an event loop turn is held until the turn ends.
  void sleep(100).then(collectGarbage);
  await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('a joined signal aborts work that starts after its end', async () => {
  await expect(withAbort(async (over) => over.throwIfAborted(), AbortSignal.abort('gone'))).rejects.toBe(
    'gone',
  );
});

it('a joined signal drops its listeners after the work, and aborts leftover work', async () => {
  const { signal } = new AbortController();
  const left = await withAbort(async (over) => {
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    return { over };
  }, signal);
  expect(left.over.aborted).toBe(true);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

/** Bytes in buffers that are still referenced. */
async function heldBytes(): Promise<number> {
  for (let times = 0; times < 3; times += 1) {
    collectGarbage();
    await new Promise(setImmediate);
  }
  return process.memoryUsage().arrayBuffers;
}

describe('a request without a waiting caller is aborted, and its node is not blamed', () => {
  // Before its own deadline of 10 s could end it.
  const isOpen = (state: SlowNode) => vi.waitFor(() => expect(state.openRequests).toBe(1), 9_000);
  const isCutOff = (state: SlowNode) => vi.waitFor(() => expect(state.openRequests).toBe(0), 9_000);
  const causes = (pool: NodePool) => pool.report().map(({ demotion }) => demotion?.cause);

  it.each([
    ['held', {}],
    ['read part by part', { maxBytes: MIB }],
  ])('when another node answered while it is %s', async (_name, options) => {
    const state = new SlowNode();
    const pool = await poolWithSlowNode(state, options);
    await readBlock(pool, 2n);
    expect(state.slowAnswers).toBe(1);
    await isCutOff(state);
    expect(causes(pool)).toEqual(['slow', undefined, undefined]);
  });

  it('while it waits to be read part by part', async () => {
    const state = new SlowNode();
    const pool = await poolWithSlowNode(state, { maxBytes: MIB });
    await Promise.all([2n, 3n, 4n].map((slot) => readBlock(pool, slot)));
    expect(state.slowAnswers).toBe(3);
    await isCutOff(state);
    // None of them needed an abort of its own.
    expect(pool.report().map(({ errorRate }) => errorRate)).toEqual([0, 0, 0]);
  });

  it('while it waits to be sent', async () => {
    const state = new SlowNode();
    const pool = await poolWithSlowNode(state, { connections: 1 });
    const end = new AbortController();
    const reads = [2n, 3n, 4n].map((slot) => readBlock(pool, slot, end.signal));
    await isOpen(state);
    end.abort();
    await Promise.allSettled(reads);
    await isCutOff(state);
    expect(state.slowAnswers).toBe(1);
    expect(causes(pool)).toEqual([undefined, undefined, undefined]);
  });

  it('together with its buffered bytes', async () => {
    const state = new SlowNode();
    const [node] = (await poolWithSlowNode(state)).nodes;
    if (node === undefined) throw new Error('there is a node');
    const before = await heldBytes();
    const end = new AbortController();
    const reads = [2n, 3n, 4n, 5n].map((slot) =>
      fetchBlock(node, { slot, commitment: 'finalized', watched: new WatchSet(0), signal: end.signal }),
    );
    const held = async () => (await heldBytes()) - before;
    // A garbage collection pauses the process: without breaks, the nodes have no time to drip.
    const patience = { timeout: 20_000, interval: 500 };
    await vi.waitFor(async () => expect(await held()).toBeGreaterThan(12 * MIB), patience);
    end.abort();
    await Promise.allSettled(reads);
    await vi.waitFor(async () => expect(await held()).toBeLessThan(3 * MIB), patience);
  });

  it('when its caller has ended', async () => {
    const state = new SlowNode();
    const pool = await poolWithSlowNode(state);
    const end = new AbortController();
    const read = readBlock(pool, 2n, end.signal);
    await isOpen(state);
    end.abort();
    await expect(read).rejects.toBe(end.signal.reason);
    await isCutOff(state);
    expect(causes(pool)).toEqual([undefined, undefined, undefined]);
    expect((await readBlock(pool, 20n)).header.slot).toBe(20n);
  });

  it('when prefetched blocks are dropped, and when the reader ends', async () => {
    const state = new SlowNode();
    const pool = await poolWithSlowNode(state);
    const end = new AbortController();
    const ahead = new Prefetch<ListedBlock>((slot, over) => readBlock(pool, slot, over), {
      concurrency: 2,
      budgetBytes: MIB,
      signal: end.signal,
    });
    ahead.request([2n]);
    await isOpen(state);
    ahead.dropUpTo(2n);
    await isCutOff(state);
    ahead.request([3n]);
    await isOpen(state);
    end.abort();
    expect(await ahead.take(3n)).toBeNull();
    await isCutOff(state);
  });
});
