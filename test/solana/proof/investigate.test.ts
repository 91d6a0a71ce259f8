import { base58 } from '@scure/base';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../../devkit/localnet/localnet.ts';
import { askHeights } from '../../../src/solana/proof/heights.ts';
import {
  type Investigation,
  investigate,
  type SignedAttempt,
} from '../../../src/solana/proof/investigate.ts';
import { judgeAttempt } from '../../../src/solana/proof/judge.ts';
import { blockCache } from '../../../src/solana/proof/linked-blocks.ts';
import { type NodePool, openNodePool } from '../../../src/solana/rpc/pool.ts';
import { quickChain } from '../../support/quick-chain.ts';
import { recordCalls, rpcCalls } from '../rpc-calls.ts';

const QUORUM = 2;
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

let serial = 0;

/** Attempts on the current blockhash whose transactions were never sent. */
async function unsent(count: number): Promise<readonly SignedAttempt[]> {
  const { slot, height, ...life } = await quickChain(pool).latestBlockhash();
  return Array.from({ length: count }, () => {
    serial += 1;
    const signature = base58.encode(
      new Uint8Array(64)
        .fill(7)
        .fill(serial % 256, 0, 2)
        .fill(serial >> 8, 2, 4),
    );
    return { signature, ...life, blockhashSlot: slot, blockhashHeight: height, adoptedFrom: null };
  });
}

/** What a fresh reader finds, and how many requests that took. */
async function proofs(
  attempts: readonly SignedAttempt[],
): Promise<{ readonly found: readonly Investigation[]; readonly calls: number }> {
  const chain = quickChain(pool);
  const before = rpcCalls(pool);
  const found = await investigate(chain, attempts, await askHeights(pool, 'finalized'), blockCache());
  return { found, calls: rpcCalls(pool) - before };
}

function verdicts(attempts: readonly SignedAttempt[], found: readonly Investigation[]): readonly string[] {
  return attempts.map((attempt, index) => {
    const investigation = found[index];
    return investigation === undefined ? 'none' : judgeAttempt(attempt, investigation.evidence).kind;
  });
}

describe('an investigation of dead attempts', () => {
  it('proves a death although the first of three nodes cannot return its height', async () => {
    const attempts = await unsent(1);
    localnet.controls.produceSlots(170);
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'http', status: 503 });
    const { found } = await proofs(attempts);
    expect(found[0]?.evidence.finalizedHeights).toHaveLength(QUORUM);
    expect(verdicts(attempts, found)).toEqual(['dead']);
  });

  it('proves 200 attempts of three blockhashes with one request per transaction and few more than for one attempt', async () => {
    const attempts: SignedAttempt[] = [];
    for (const count of [70, 70, 60]) {
      attempts.push(...(await unsent(count)));
      localnet.controls.produceSlots(2);
    }
    localnet.controls.produceSlots(170);
    const one = await proofs(attempts.slice(0, 1));
    const all = await proofs(attempts);

    expect(new Set(verdicts(attempts, all.found))).toEqual(new Set(['dead']));
    expect(new Set(attempts.map(({ blockhash }) => blockhash)).size).toBe(3);
    // Two more blockhashes: for each a list of slots, the blocks that the first range lacks, and the answers of the nodes about it and about both ends.
    const nodes = pool.nodes.length;
    expect(all.calls - one.calls).toBeLessThanOrEqual(2 * (1 + 2 * QUORUM + 3 * nodes) + 199 * nodes);
    for (const { evidence } of all.found) {
      const { finalizedHeights, coverage, statuses } = evidence;
      const askedLast = Math.max(...finalizedHeights.map(({ sequence }) => sequence));
      expect(coverage?.sequence).toBeGreaterThan(askedLast);
      expect(statuses.length).toBe(pool.nodes.length);
      expect(statuses.every(({ sequence }) => sequence > (coverage?.sequence ?? Number.NaN))).toBe(true);
    }
  });

  it('requests no status before the blocks of all attempts are read', async () => {
    const attempts = await unsent(3);
    localnet.controls.produceSlots(170);
    const asked: string[] = [];
    const stop = recordCalls(pool, asked);
    await proofs(attempts);
    stop();
    const lastBlock = asked.lastIndexOf('getBlock');
    expect(lastBlock).toBeGreaterThan(asked.lastIndexOf('getBlockHeight'));
    expect(asked.indexOf('getSignatureStatuses')).toBeGreaterThan(lastBlock);
    expect(asked.filter((method) => method === 'getSignatureStatuses')).toHaveLength(pool.nodes.length);
  });

  it('separates dead attempts from a landed one with the same blockhash', async () => {
    const signature = await localnet.airdrop(localnet.plantedMint.address, 1_000_000n);
    const attempts = await unsent(2);
    const [lost, other] = attempts;
    if (lost === undefined || other === undefined) throw new Error('two were asked for');
    localnet.controls.produceSlots(170);
    const mixed = [lost, { ...other, signature }];
    const { found } = await proofs(mixed);
    expect(verdicts(mixed, found).slice(0, 1)).toEqual(['dead']);
    expect(found[1]?.evidence.outcomeConfirmedBy).toHaveLength(1);
  });

  it('finds a landing although no node returns its blocks, and reports the obstacle of the proof', async () => {
    const [attempt] = await unsent(1);
    const signature = await localnet.airdrop(localnet.plantedMint.address, 3_000_000n);
    localnet.controls.produceSlots(170);
    if (attempt === undefined) throw new Error('one was asked for');
    for (const node of [0, 1, 2])
      localnet.controls.setFault(node, 'getBlocksWithLimit', { kind: 'http', status: 503 });
    const both = [attempt, { ...attempt, signature }];
    const { found } = await proofs(both);
    expect(verdicts(both, found)).toEqual(['unknown', 'landed']);
    expect(found[0]?.obstacle).toContain('getBlocksWithLimit');
  });
});
