import { Keypair } from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { Chain } from '../../src/solana/chain.ts';
import { parseJson } from '../../src/solana/rpc/answer.ts';
import { type Reaction, RpcError, reactionTo } from '../../src/solana/rpc/errors.ts';
import { getBlock, getEpochInfo } from '../../src/solana/rpc/methods.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { u64 } from '../../src/solana/rpc/schemas.ts';
import { rpcCalls } from './rpc-calls.ts';

let localnet: Localnet;
let pool: NodePool;
let now = 0;

beforeEach(async () => {
  now = 0;
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 2 });
  pool = await openNodePool(localnet.rpcUrls, { timeoutMs: 3_000, now: () => now });
});
afterEach(async () => {
  await pool.close();
  await localnet.close();
});

const height = () => pool.read((node) => node.call('getBlockHeight', [], u64));

describe('the node pool', () => {
  it.each([
    ['HTTP 429', { kind: 'http', status: 429, retryAfterSeconds: 1 }],
    ['HTTP 503', { kind: 'http', status: 503 }],
    ['silence', { kind: 'no-answer' }],
    ['a dropped connection', { kind: 'lost-answer' }],
    ['null', { kind: 'null' }],
    ['another shape', { kind: 'result', result: { slot: 'x' } }],
    ['ill health', { kind: 'error', code: -32005, message: 'Node is behind' }],
    ['a lag', { kind: 'error', code: -32016, message: 'Minimum context slot has not been reached' }],
  ] as const)('asks the next node after %s', async (_name, fault) => {
    const before = await height();
    localnet.controls.setFault(0, 'getBlockHeight', fault);
    expect(await height()).toBe(before);
  });

  it('pauses a node with a fault, and resumes it as its answers are good', async () => {
    const calls = () => pool.nodes[0]?.callCount;
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'http', status: 503 }, 1);
    await height();
    expect(calls()).toBe(1);
    expect(pool.report()[0]).toMatchObject({ demotion: { cause: 'fault' }, errorRate: 0.1, score: 96 });
    await height();
    now += 500;
    expect(pool.report()[0]?.demotion).toBeNull();
    await height();
    expect(calls()).toBe(1);
    for (let probes = 0; probes < 15; probes += 1) await pool.probe();
    expect(pool.report()[0]?.score).toBe(100);
    await height();
    expect(calls()).toBe(2);
  });

  it('pauses a node that returns a rate limit error under the code of a skipped slot', async () => {
    const message = '100/second request limit reached - reduce calls per second';
    for (const node of [0, 1])
      localnet.controls.setFault(node, 'getBlock', { kind: 'error', code: -32007, message });
    const header = { commitment: 'finalized', transactionDetails: 'signatures' } as const;
    const asked = pool.read((node, over) => getBlock(node, 1n, header, over));
    await expect(asked).rejects.toMatchObject({ code: 'NoHealthyNode' });
    expect(pool.report().map(({ demotion }) => demotion)).toMatchObject(
      Array(2).fill({ cause: 'fault', reason: expect.stringContaining(message) }),
    );
  });

  it('waits two seconds for a node that had a fault, and forgets the fault after a later answer', async () => {
    const patient = await openNodePool(localnet.rpcUrls, { timeoutMs: 3_600_000, now: () => 0 });
    const ask = () => patient.all((node) => node.call('getBlockHeight', [], u64));
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'http', status: 503 }, 1);
    await ask();
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'delay', ms: 4_000 });
    const [first, second] = await ask();
    expect(first?.result).toMatchObject({ status: 'rejected', reason: { code: 'NodeFault' } });
    expect(second?.result.status).toBe('fulfilled');
    expect(patient.report()[0]?.demotion?.cause).toBe('fault');
    await expect.poll(() => patient.report()[0]?.demotion, { timeout: 30_000 }).toBeNull();
    await patient.close();
  });

  it('sends no request to a node before its Retry-After time, not even for a proof', async () => {
    const storm = { kind: 'http', status: 429, retryAfterSeconds: 20 } as const;
    localnet.controls.setFault(0, 'getBlockHeight', storm, 1);
    localnet.controls.setFault(1, 'getBlockHeight', storm, 1);
    await expect(height()).rejects.toMatchObject({ code: 'NoHealthyNode' });
    now += 19_999;
    await expect(height()).rejects.toMatchObject({ message: expect.stringContaining('HTTP 429') });
    const answers = await pool.all((node) => node.call('getBlockHeight', [], u64));
    expect(answers.map(({ result }) => result.status)).toEqual(['rejected', 'rejected']);
    expect(rpcCalls(pool)).toBe(2);
    now += 1;
    expect(await height()).toBeGreaterThan(0n);
  });

  it('asks the node with the highest slot first, and one that lags far behind last', async () => {
    localnet.controls.produceSlots(200);
    localnet.controls.setFault(0, '*', { kind: 'lag', blocks: 60 });
    await pool.probe();
    expect(pool.report()[0]).toMatchObject({ lagSlots: 60n, score: 85, demotion: null });
    const first = () => pool.read(async (node) => node.name);
    expect(await first()).toBe(pool.nodes[1]?.name);
    localnet.controls.clearFaults();
    localnet.controls.setFault(1, '*', { kind: 'lag', blocks: 150 });
    await pool.probe();
    expect(pool.report()[1]).toMatchObject({ lagSlots: 150n, demotion: { cause: 'lag' } });
    expect(await first()).toBe(pool.nodes[0]?.name);
  });

  it.each([-32602, -32600, -32003, -32015])(
    'accepts %i as final only when all nodes return it, and avoids a node that returns it alone',
    async (code) => {
      const before = await height();
      const refusal = { kind: 'error', code, message: 'no' } as const;
      localnet.controls.setFault(0, 'getBlockHeight', refusal, 1);
      expect(await height()).toBe(before);
      expect(pool.report()[0]?.demotion).toMatchObject({ cause: 'fault' });
      for (const node of [0, 1]) localnet.controls.setFault(node, 'getBlockHeight', refusal);
      await expect(height()).rejects.toMatchObject({ code });
    },
  );

  it('throws NoHealthyNode when no node answers, and names the field of a wrong answer', async () => {
    for (const node of [0, 1]) localnet.controls.setFault(node, '*', { kind: 'result', result: -1 });
    await expect(height()).rejects.toMatchObject({
      code: 'NoHealthyNode',
      message: expect.stringContaining('result'),
    });
  });

  it('refuses a node of another cluster, a single remote node, and an empty list', async () => {
    localnet.controls.setFault(1, 'getGenesisHash', {
      kind: 'result',
      result: Keypair.generate().publicKey.toBase58(),
    });
    await expect(openNodePool(localnet.rpcUrls)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    await expect(openNodePool(['https://node.example'])).rejects.toMatchObject({ code: 'NoHealthyNode' });
    const [one = ''] = localnet.rpcUrls;
    await expect(openNodePool([one, `${one}/`])).rejects.toThrow('configured twice');
    await expect(openNodePool([])).rejects.toMatchObject({ code: 'NoHealthyNode' });
  });

  it('joins concurrent requests into one call', async () => {
    const chain = new Chain(pool);
    const before = rpcCalls(pool);
    const wallets = Array.from({ length: 90 }, () => Keypair.generate().publicKey.toBase58());
    const answers = await Promise.all(wallets.map((address) => chain.accounts([address, wallets[0] ?? ''])));
    expect(answers.every(({ accounts }) => accounts.length === 2)).toBe(true);
    await Promise.all(wallets.map(() => chain.latestBlockhash()));
    await Promise.all(wallets.map(() => chain.rentMinimum(0)));
    // The rent minimum is read from a quorum.
    expect(rpcCalls(pool) - before).toBe(6);
  });

  it('blames no node for requests that wait in the local queue', async () => {
    const limited = await openNodePool(localnet.rpcUrls, { requestsPerSecond: 3, timeoutMs: 2_000 });
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => limited.all((node) => getEpochInfo(node, 'finalized'))),
    );
    const demotion = limited.report().map((report) => report.demotion);
    await limited.close();
    const missed = answers
      .flat()
      .flatMap(({ result }) => (result.status === 'rejected' ? result.reason : []));
    expect(missed.length).toBeGreaterThan(0);
    for (const fault of missed) expect(fault).toMatchObject({ code: 'NodeFault', asked: false });
    expect(demotion.every((reason) => reason === null)).toBe(true);
  });

  it('returns the answer of each node to a send, and never throws', async () => {
    localnet.controls.setFault(0, 'sendTransaction', {
      kind: 'error',
      code: -32002,
      message: 'x',
      data: { err: 'BlockhashNotFound' },
    });
    localnet.controls.setFault(1, 'sendTransaction', { kind: 'lost-answer' });
    const answers = await new Chain(pool).send('AAAA');
    expect(answers.map((answer) => answer.error)).toEqual([
      'BlockhashNotFound',
      expect.stringContaining('sendTransaction'),
    ]);
  });
});

describe('an error that is not of a node', () => {
  const defect = (): Promise<bigint> => Promise.reject(new TypeError('a defect'));

  it.each<[string, () => Promise<unknown>]>([
    ['read', () => pool.read(defect)],
    ['agreed', () => pool.agreed(defect, Object.is)],
    ['some', () => pool.some(defect, () => true)],
    ['second', () => pool.second('', defect, () => true)],
    ['all', () => pool.all(defect)],
    ['most', () => pool.most(defect)],
  ])('fails `%s` if no node answers', async (_name, request) => {
    await expect(request()).rejects.toThrow('a defect');
  });

  it('is a missing answer if another node answers', async () => {
    const [first] = pool.nodes;
    const results = await pool.all((node) => (node === first ? defect() : height()));
    expect(results.map(({ result }) => result.status)).toEqual(['rejected', 'fulfilled']);
  });
});

describe('codes and numbers', () => {
  it.each<[code: number, reaction: Reaction]>([
    [-32001, 'elsewhere'],
    [-32002, 'inspect'],
    [-32003, 'fatal'],
    [-32004, 'later'],
    [-32005, 'demote'],
    [-32006, 'fatal'],
    [-32007, 'ambiguous'],
    [-32008, 'elsewhere'],
    [-32009, 'ambiguous'],
    [-32010, 'unfit'],
    [-32011, 'unfit'],
    [-32012, 'later'],
    [-32013, 'fatal'],
    [-32014, 'later'],
    [-32015, 'stop'],
    [-32016, 'elsewhere'],
    [-32017, 'later'],
    [-32018, 'fatal'],
    [-32019, 'later'],
    [-32020, 'elsewhere'],
    [-32601, 'unfit'],
    [-32602, 'fatal'],
    [-32603, 'demote'],
    [-32021, 'unreadable'],
    [429, 'unreadable'],
    [0, 'unreadable'],
  ])('%i is %s', (code, reaction) => {
    expect(reactionTo(new RpcError({ code, message: '' }, 'n', 'getBlock'))).toBe(reaction);
  });

  it('an unreadable answer moves the request to another node, and its node to the end of the ranking', async () => {
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'error', code: -31999, message: '?' }, 1);
    expect(await height()).toBeGreaterThan(0n);
    expect(pool.report()[0]?.demotion).toMatchObject({ cause: 'fault' });
  });

  it('a u64 keeps every digit in any notation', () => {
    const top = 2n ** 64n - 1n;
    for (const text of [`${top}`, `"${top}"`]) expect(u64.parse(parseJson(text))).toBe(top);
    expect(u64.parse(parseJson('9007199254740993'))).toBe(9007199254740993n);
    expect(u64.parse(parseJson('0'))).toBe(0n);
    expect(parseJson('{"a":[1.5,9007199254740993]}')).toEqual({ a: [1.5, 9007199254740993n] });
    for (const behind of ['[', '[1,', '[ ', '[\n\t', '{"a":', '[-'])
      for (const digits of [
        '9007199254740991',
        '9007199254740993',
        '10000000000000001',
        '8999999999999999',
      ]) {
        const sign = behind.endsWith('-') ? '-' : '';
        const text = `${behind}${digits}${behind.startsWith('{') ? '}' : ']'}`;
        const values = Object.values(parseJson(text) as object) as (number | bigint)[];
        expect(BigInt(values.at(-1) ?? 0)).toBe(BigInt(`${sign}${digits}`));
      }
    for (const bad of ['-1', '1.5', '"0x1"', 'null', '""'])
      expect(u64.safeParse(parseJson(bad)).success).toBe(false);
  });
});
