import { Keypair } from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { Chain } from '../../src/solana/chain.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { rpcCalls } from './rpc-calls.ts';

// The first integer that a double cannot represent.
const BEYOND_DOUBLE = 9_007_199_254_740_993n;
const gone = { kind: 'error', code: -32601, message: 'Method not found' } as const;
/** Blocks after which no node caches the status of a transaction. */
const BEYOND_CACHE = 310;
const rich = Keypair.generate().publicKey.toBase58();
const absent = '1'.repeat(64);

let localnet: Localnet;
let pool: NodePool;
let chain: Chain;

beforeEach(async () => {
  const funded = [{ address: rich, lamports: BEYOND_DOUBLE }];
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 4, nodes: 2, legacy: true, funded });
  pool = await openNodePool(localnet.rpcUrls, { now: () => 0 });
  chain = new Chain(pool);
});
afterEach(async () => {
  await pool.close();
  await localnet.close();
});

const calls = () => pool.nodes.map(({ callCount }) => callCount);
const tip = () => localnet.controls.chain.ledger.tip;

it('a balance above the exact range of a double keeps its last lamport', async () => {
  const { accounts } = await chain.accounts([rich]);
  expect(accounts[0]?.lamports).toBe(BEYOND_DOUBLE);
});

describe('a blockhash to sign with', () => {
  it('has the height of its own block, requested from the node that returned it and from a second one', async () => {
    localnet.controls.skipSlots(7);
    localnet.controls.produceSlots(3);
    const latest = await chain.latestBlockhash();
    expect(latest.slot).toBeGreaterThan(latest.height);
    expect(latest.lastValidBlockHeight).toBe(latest.height + 150n);
    expect(calls()).toEqual([2, 1]);
  });

  it.each([
    ['says so', { kind: 'error', code: -32004, message: 'Block not available for slot' }],
    ['waits for its statuses', { kind: 'error', code: -32014, message: 'Block status not yet available' }],
    ['answers null', { kind: 'null' }],
  ] as const)(
    'is refused after a few tries when one of two nodes lacks the block and %s',
    async (_name, fault) => {
      localnet.controls.setFault(0, 'getBlock', fault);
      await expect(chain.latestBlockhash()).rejects.toThrow('no blockhash is known to 2 of 2 nodes');
    },
  );

  it('is the newest blockhash of a quorum when one node lags behind the other', async () => {
    localnet.controls.produceSlots(30);
    localnet.controls.setFault(1, '*', { kind: 'lag', blocks: 20 });
    const { height } = await chain.latestBlockhash();
    expect(BigInt(tip().height) - height).toBeGreaterThanOrEqual(20n);
  });

  it('is read from another node at once when the block carries another one or may not exist', async () => {
    const another = { ...block(), blockhash: rich };
    localnet.controls.setFault(0, 'getBlock', { kind: 'result', result: another }, 1);
    await chain.latestBlockhash();
    expect(calls()).toEqual([3, 2]);
  });

  it('is refused when all nodes report its slot as skipped', async () => {
    const skipped = { kind: 'error', code: -32007, message: 'Slot 5 was skipped' } as const;
    for (const node of [0, 1]) localnet.controls.setFault(node, 'getBlock', skipped);
    await expect(chain.latestBlockhash()).rejects.toMatchObject({ reaction: 'ambiguous' });
  });

  function block(): Record<string, unknown> {
    const { slot, height } = tip();
    return {
      blockhash: rich,
      previousBlockhash: rich,
      parentSlot: slot - 1,
      blockHeight: height,
      blockTime: 0,
    };
  }
});

it('the base fee is the answer of a quorum, never of one node', async () => {
  const setFee = (node: number, value: number) => {
    const result = { context: { slot: tip().slot }, value };
    localnet.controls.setFault(node, 'getFeeForMessage', { kind: 'result', result });
  };
  setFee(0, 900_077);
  setFee(1, 5_077);
  await expect(chain.baseFee('', 77n)).rejects.toMatchObject({ code: 'NoHealthyNode' });
  localnet.controls.clearFaults();
  for (const node of [0, 1]) setFee(node, 5_077);
  expect(await chain.baseFee('', 77n)).toBe(5_000n);
});

describe('nodes from before Agave 1.9', () => {
  beforeEach(() => {
    for (const method of ['getLatestBlockhash', 'isBlockhashValid', 'getFeeForMessage'])
      for (const node of [0, 1]) localnet.controls.setFault(node, method, gone);
  });

  it('return the blockhash and the base fee by getFees, and receive the newer method only once', async () => {
    const latest = await chain.latestBlockhash();
    expect(latest.lastValidBlockHeight).toBe(latest.height + 150n);
    expect(await chain.baseFee('', 77n)).toBe(5_000n);
    const before = rpcCalls(pool);
    expect(await new Chain(pool).latestBlockhash()).toEqual(latest);
    expect(rpcCalls(pool) - before).toBe(3);
  });

  it('never provide a slot as the last valid height', async () => {
    const { slot } = tip();
    const fees = {
      blockhash: rich,
      feeCalculator: { lamportsPerSignature: 5000 },
      lastValidSlot: slot + 150,
    };
    const result = { context: { slot }, value: fees };
    for (const node of [0, 1]) localnet.controls.setFault(node, 'getFees', { kind: 'result', result });
    await expect(chain.latestBlockhash()).rejects.toThrow('result.value.lastValidBlockHeight');
  });
});

describe('a blockhash', () => {
  it.each(['modern', 'old'])(
    'is accepted by the finalized banks of %s nodes for 150 heights',
    async (age) => {
      if (age === 'old') localnet.controls.setFault(0, 'isBlockhashValid', gone);
      localnet.controls.produceSlots(5);
      const { blockhash } = await chain.latestBlockhash();
      const names = pool.nodes.map(({ name }) => name);
      expect(await chain.nodesAccepting(blockhash), 'it is not final yet').toEqual([]);
      localnet.controls.produceSlots(100);
      expect(await chain.nodesAccepting(blockhash)).toEqual(names);
      localnet.controls.produceSlots(100);
      expect(await chain.nodesAccepting(blockhash)).toEqual([]);
      localnet.controls.setFault(0, '*', { kind: 'lag', blocks: 80 });
      expect(await chain.nodesAccepting(blockhash)).toEqual(names.slice(0, 1));
      localnet.controls.setFault(1, '*', { kind: 'http', status: 503 });
      expect(await chain.nodesAccepting(blockhash)).toEqual(names.slice(0, 1));
      expect(await chain.nodesAccepting(blockhash, 'included')).toEqual(names);
    },
  );
});

it('a send goes to every node in base64, without preflight, and with no retries by the node', async () => {
  const asked: unknown[] = [];
  for (const node of pool.nodes) {
    const call = node.call.bind(node);
    node.call = (method, params, schema) => {
      if (method === 'sendTransaction') asked.push(params);
      return call(method, params, schema);
    };
  }
  const raw = 'AAECAw==';
  await chain.send(raw);
  const as = { encoding: 'base64', skipPreflight: true, preflightCommitment: 'confirmed', maxRetries: 0 };
  expect(asked).toEqual([
    [raw, as],
    [raw, as],
  ]);
});

describe('statuses of signatures', () => {
  const entry = (status: object) => ({ context: { slot: 9 }, value: [{ slot: 5, err: null, ...status }] });

  it.each([
    ['says finalized', { confirmationStatus: 'finalized', confirmations: null }, 'finalized'],
    ['says confirmed', { confirmationStatus: 'confirmed', confirmations: 3 }, 'confirmed'],
    ['counts no confirmations any more', { confirmations: null }, 'finalized'],
    ['counts confirmations only', { confirmations: 31 }, 'processed'],
  ])('are present when an answer %s', async (_name, status, commitment) => {
    localnet.controls.setFault(0, 'getSignatureStatuses', { kind: 'result', result: entry(status) });
    const { observations } = await chain.recentStatuses([absent]);
    expect(observations).toEqual([{ kind: 'seen', commitment, slot: 5n, error: null, atSlot: 9n }]);
  });

  it.each([{}, { confirmationStatus: null }])('are never finalized by a missing field: %j', async (left) => {
    localnet.controls.setFault(0, 'getSignatureStatuses', { kind: 'result', result: entry(left) });
    const [first] = await chain.statuses([absent]);
    expect(first?.observations).toMatchObject([{ kind: 'unreadable' }]);
  });

  it.each([
    ['another length', { kind: 'result', result: { context: { slot: 9 }, value: [] } }],
    ['an unknown code', { kind: 'error', code: -32099, message: 'no such transaction' }],
    ['ledger trouble', { kind: 'error', code: -32019, message: 'Long-term storage unreachable' }],
    ['a null', { kind: 'null' }],
    ['silence about the outcome', { kind: 'http', status: 503 }],
  ] as const)('are unreadable, not absent, after %s', async (_name, fault) => {
    localnet.controls.setFault(0, 'getSignatureStatuses', fault);
    const answers = await chain.statuses([absent]);
    expect(answers.map(({ observations }) => observations[0]?.kind)).toEqual(['unreadable', 'absent']);
  });

  it('are found in the history of every node after they leave its cache of recent ones (x402 of cardotrejos #78)', async () => {
    const known = await localnet.airdrop(rich, 1n);
    localnet.controls.produceSlots(BEYOND_CACHE);
    expect((await chain.recentStatuses([known])).observations).toMatchObject([{ kind: 'absent' }]);
    const seen = { observations: [{ kind: 'seen', commitment: 'finalized' }] };
    expect(await chain.statuses([known])).toMatchObject([seen, seen]);
  });

  it('are unreadable when a node without history lacks them, and count when it has them', async () => {
    const off = { kind: 'error', code: -32011, message: 'Transaction history is not available' } as const;
    localnet.controls.setFault(0, 'getTransaction', off);
    await pool.probe();
    const known = await localnet.airdrop(rich, 1n);
    const answers = await chain.statuses([absent, known]);
    expect(answers.map(({ observations }) => observations.map(({ kind }) => kind))).toEqual([
      ['unreadable', 'seen'],
      ['absent', 'seen'],
    ]);
  });
});
