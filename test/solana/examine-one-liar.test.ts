import { base58 } from '@scure/base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import type { AttemptVerdict } from '../../src/domain/attempt.ts';
import { examine, findDue } from '../../src/solana/proof/examine.ts';
import type { SignedAttempt } from '../../src/solana/proof/investigate.ts';
import { type BlockCache, blockCache } from '../../src/solana/proof/linked-blocks.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { quickChain } from '../support/quick-chain.ts';
import { type BlockAnswer, type FalseResult, falseHash, startLiar } from './lying-node.ts';
import type { ScriptedNode } from './rpc-scripted-node.ts';

const HONEST = 3;
const TRUTH: FalseResult = () => undefined;
const AHEAD = 60;
const FINALITY_LAG = 4;
let localnet: Localnet;
let liar: ScriptedNode;
let lie: FalseResult = TRUTH;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: FINALITY_LAG, nodes: HONEST });
  localnet.controls.produceSlots(200);
  liar = await startLiar(localnet.rpcUrls[HONEST - 1] ?? '', () => lie);
});
afterEach(() => {
  lie = TRUTH;
  localnet.controls.clearFaults();
});
afterAll(async () => {
  await liar.close();
  await localnet.close();
});

/** A pool of so many honest nodes and the liar, who comes first. */
async function withLiar<T>(honest: number, act: (pool: NodePool) => Promise<T>): Promise<T> {
  const pool = await openNodePool([liar.url, ...localnet.rpcUrls.slice(0, honest)]);
  try {
    return await act(pool);
  } finally {
    await pool.close();
  }
}

/** Makes the liar the best node of two; `other` is the answer of the rest. */
function leading(other: FalseResult): FalseResult {
  return (asked, truth) => (asked.method === 'getSlot' ? Number(truth) + AHEAD : other(asked, truth));
}

let serial = 0;

/** An attempt on today's blockhash whose transaction was not sent; its heights as if they were `lower`. */
async function unsent(lower = 0n): Promise<SignedAttempt> {
  const pool = await openNodePool(localnet.rpcUrls);
  const { slot, height, blockhash, lastValidBlockHeight } = await quickChain(pool).latestBlockhash();
  await pool.close();
  serial += 1;
  return {
    signature: base58.encode(new Uint8Array(64).fill(5).fill(serial, 0, 1)),
    blockhash,
    blockhashSlot: slot,
    blockhashHeight: height - lower,
    lastValidBlockHeight: lastValidBlockHeight - lower,
    adoptedFrom: null,
  };
}

/** The verdict of one check, and its obstacle; null if no attempt was examined. */
async function judged(
  pool: NodePool,
  attempt: SignedAttempt,
  cache: BlockCache = blockCache(),
): Promise<{ readonly verdict: AttemptVerdict; readonly obstacle: string | null } | null> {
  const chain = quickChain(pool);
  const [finding] = await examine(chain, await findDue(chain, [attempt]), cache);
  return finding ?? null;
}

/**
 * Says that the block of the attempt's blockhash, and all above it, are as low as the reported height of the attempt, and invents the blocks
 * from there to a real finalized one, so that the attempt looks expired.
 */
function inventor({ blockhash, blockhashSlot, blockhashHeight }: SignedAttempt): FalseResult {
  const invented = new Map<number, BlockAnswer>();
  const invent = (top: BlockAnswer, topSlot: number): void => {
    let previous = { slot: Number(blockhashSlot), hash: blockhash };
    for (let above = 0; above <= 151; above += 1) {
      const slot = above === 0 ? Number(blockhashSlot) : above === 151 ? topSlot : 1_000_000 + above;
      const hash = above === 0 ? blockhash : above === 151 ? top.blockhash : falseHash(above);
      const link = { parentSlot: previous.slot, previousBlockhash: previous.hash };
      invented.set(slot, {
        blockhash: hash,
        ...link,
        blockHeight: Number(blockhashHeight) + above,
        signatures: [],
      });
      previous = { slot, hash };
    }
  };
  return leading(({ method, params }, truth) => {
    if (method === 'getBlocksWithLimit') {
      const { slot, blockhash: hash } = localnet.controls.chain.ledger.below(FINALITY_LAG);
      invent({ blockhash: hash, previousBlockhash: '', parentSlot: 0, blockHeight: 0 }, slot);
      return [slot];
    }
    return method === 'getBlock' ? (invented.get(Number(params[0])) ?? truth) : undefined;
  });
}

describe('one lying node that the judge asks', () => {
  it.each([1, 2])(
    'cannot cause the death of a living attempt by low heights and invented blocks, beside %i honest nodes',
    async (honest) => {
      const attempt = await unsent(145n);
      lie = inventor(attempt);
      localnet.controls.produceSlots(12);
      const found = await withLiar(honest, (pool) => judged(pool, attempt));
      expect(found?.verdict.kind).toMatch(/^(alive|unknown)$/);
      // A reported height that was too low does not block the proof later.
      lie = TRUTH;
      localnet.controls.produceSlots(160);
      expect((await withLiar(honest, (pool) => judged(pool, attempt)))?.verdict).toEqual({ kind: 'dead' });
    },
  );

  it('cannot keep an attempt alive forever by an unreachable last height', async () => {
    const attempt = { ...(await unsent()), lastValidBlockHeight: 10n ** 15n };
    const look = () => withLiar(2, (pool) => judged(pool, attempt));
    localnet.controls.produceSlots(8);
    expect((await look())?.verdict).toEqual({ kind: 'alive', seen: null });
    localnet.controls.produceSlots(160);
    expect((await look())?.verdict).toEqual({ kind: 'dead' });
  });

  it.each<[string, (block: BlockAnswer) => unknown]>([
    ['another hash', (block) => ({ ...block, blockhash: falseHash(1) })],
    ['another parent', (block) => ({ ...block, previousBlockhash: falseHash(2) })],
    ['a missing parent slot', (block) => ({ ...block, parentSlot: 10 ** 9 })],
    ['another height', (block) => ({ ...block, blockHeight: block.blockHeight + 7 })],
    ['no signatures', (block) => ({ ...block, signatures: undefined })],
    ['no block', () => null],
  ])('cannot stop a proof by blocks with %s, and cannot damage stored blocks', async (_name, spoil) => {
    const attempt = await unsent();
    localnet.controls.produceSlots(170);
    const cache = blockCache();
    lie = leading(({ method }, truth) =>
      method === 'getBlock' && truth !== null ? spoil(truth as BlockAnswer) : undefined,
    );
    const look = () => withLiar(2, (pool) => judged(pool, attempt, cache));
    expect(await look()).toMatchObject({ verdict: { kind: 'dead' } });
    lie = TRUTH;
    expect(await look()).toMatchObject({ verdict: { kind: 'dead' } });
  });

  it('cannot keep an attempt alive forever by a blockhash that is on no block', async () => {
    const attempt = { ...(await unsent()), blockhash: falseHash(3) };
    localnet.controls.produceSlots(170);
    const found = await withLiar(2, (pool) => judged(pool, attempt));
    expect(found?.verdict).toEqual({ kind: 'dead' });
  });
});

describe('one lying node that is asked for a blockhash', () => {
  const taken = (honest: number) =>
    withLiar(honest, async (pool) => {
      const latest = await quickChain(pool).latestBlockhash();
      return { ...latest, real: localnet.controls.chain.ledger.bySlot(Number(latest.slot)) };
    });

  it.each([-145, -1, 2, 10 ** 12])('cannot move the last valid height by %i', async (shift) => {
    lie = leading(({ method }, truth) => {
      if (method !== 'getLatestBlockhash') return undefined;
      const { context, value } = truth as { context: object; value: { lastValidBlockHeight: number } };
      return { context, value: { ...value, lastValidBlockHeight: value.lastValidBlockHeight + shift } };
    });
    const { real, height, lastValidBlockHeight } = await taken(1);
    expect([height, lastValidBlockHeight]).toEqual([BigInt(real?.height ?? 0), height + 150n]);
  });

  it('cannot move all heights when two other nodes disagree, and a pool of two accepts neither', async () => {
    const lower = (key: string, answer: object) =>
      Object.fromEntries(
        Object.entries(answer).map(([name, value]) => [name, name === key ? Number(value) - 145 : value]),
      );
    lie = leading(({ method }, truth) => {
      if (method === 'getBlock' && truth !== null) return lower('blockHeight', truth as object);
      if (method !== 'getLatestBlockhash') return undefined;
      const { context, value } = truth as { context: object; value: object };
      return { context, value: lower('lastValidBlockHeight', value) };
    });
    const { real, height } = await taken(2);
    expect(height).toBe(BigInt(real?.height ?? 0));
    await expect(taken(1)).rejects.toMatchObject({ code: 'NoHealthyNode' });
  });

  it('is not believed alone, and no third node that does not answer is waited for', async () => {
    localnet.controls.setFault(0, 'getBlock', { kind: 'no-answer' });
    await expect(taken(1)).rejects.toThrow('no blockhash is known to 2 of 2 nodes');
    const { real, height } = await taken(2);
    expect(height).toBe(BigInt(real?.height ?? 0));
  });
});

describe('one lying node in the node ranking', () => {
  it.each([
    [AHEAD, null],
    [10 ** 9, { cause: 'lag' }],
  ])('is not the best node because it claims to be %i slots ahead', async (ahead, demotion) => {
    lie = ({ method }, truth) => (method === 'getSlot' ? Number(truth) + ahead : undefined);
    const pool = await openNodePool([...localnet.rpcUrls.slice(0, 2), liar.url]);
    const [first, second, last] = pool.report();
    const asked = await pool.read(async (node) => node.name);
    await pool.close();
    expect([first?.lagSlots, second?.lagSlots]).toEqual([0n, 0n]);
    expect(asked).toBe(first?.node);
    if (demotion === null) expect(last?.demotion).toBeNull();
    else expect(last?.demotion).toMatchObject(demotion);
  });
});
