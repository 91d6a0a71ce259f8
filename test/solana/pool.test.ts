import { Keypair } from '@solana/web3.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { Chain } from '../../src/solana/chain.ts';
import { RPC_REACTIONS, RpcError, reactionTo } from '../../src/solana/rpc/errors.ts';
import { parseJson } from '../../src/solana/rpc/json.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { u64 } from '../../src/solana/rpc/schemas.ts';

let localnet: Localnet;
let pool: NodePool;

beforeEach(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 2 });
  pool = await openNodePool(localnet.rpcUrls, { timeoutMs: 500 });
});
afterEach(async () => {
  await pool.close();
  await localnet.close();
});

const height = () => pool.read((node) => node.call('getBlockHeight', [], u64));

describe('reading from several nodes', () => {
  it.each([
    ['HTTP 429', { kind: 'http', status: 429, retryAfterSeconds: 1 }],
    ['HTTP 503', { kind: 'http', status: 503 }],
    ['silence', { kind: 'no-answer' }],
    ['a dropped connection', { kind: 'lost-answer' }],
    ['null', { kind: 'null' }],
    ['another shape', { kind: 'result', result: { slot: 'x' } }],
    ['ill health', { kind: 'error', code: -32005, message: 'Node is behind' }],
    ['a lag', { kind: 'error', code: -32016, message: 'Minimum context slot has not been reached' }],
  ] as const)('asks the next one after %s', async (_name, fault) => {
    const before = await height();
    localnet.controls.setFault(0, 'getBlockHeight', fault);
    expect(await height()).toBe(before);
  });

  it('leaves a node alone that had a fault, and comes back', async () => {
    localnet.controls.setFault(0, 'getBlockHeight', { kind: 'http', status: 503 }, 1);
    await height();
    const calls = pool.nodes[0]?.callCount;
    await height();
    expect(pool.nodes[0]?.callCount).toBe(calls);
    await new Promise((resolve) => setTimeout(resolve, 600));
    await height();
    expect(pool.nodes[0]?.callCount).toBe((calls ?? 0) + 1);
  });

  it('does not repeat our own fault elsewhere', async () => {
    localnet.controls.setFault(0, 'getBlockHeight', {
      kind: 'error',
      code: -32602,
      message: 'Invalid params',
    });
    await expect(height()).rejects.toBeInstanceOf(RpcError);
    expect(pool.rpcCalls()).toBe(7);
  });

  it('says NoHealthyNode when nobody answers, and names the field of a wrong answer', async () => {
    for (const node of [0, 1]) localnet.controls.setFault(node, '*', { kind: 'result', result: -1 });
    await expect(height()).rejects.toMatchObject({
      code: 'NoHealthyNode',
      message: expect.stringContaining('result'),
    });
  });

  it('refuses a node of another cluster, one lonely remote node, and none', async () => {
    localnet.controls.setFault(1, 'getGenesisHash', {
      kind: 'result',
      result: Keypair.generate().publicKey.toBase58(),
    });
    await expect(openNodePool(localnet.rpcUrls)).rejects.toMatchObject({ code: 'NoHealthyNode' });
    await expect(openNodePool(['https://node.example'])).rejects.toMatchObject({ code: 'NoHealthyNode' });
    await expect(openNodePool([])).rejects.toMatchObject({ code: 'NoHealthyNode' });
  });

  it('joins questions of one moment into one call', async () => {
    const chain = new Chain(pool);
    const before = pool.rpcCalls();
    const wallets = Array.from({ length: 90 }, () => Keypair.generate().publicKey.toBase58());
    const answers = await Promise.all(wallets.map((address) => chain.accounts([address, wallets[0] ?? ''])));
    expect(answers.every(({ accounts }) => accounts.length === 2)).toBe(true);
    await Promise.all(wallets.map(() => chain.latestBlockhash()));
    await Promise.all(wallets.map(() => chain.rentMinimum(0)));
    expect(pool.rpcCalls() - before).toBe(4);
  });

  it('tells what each node said to a send, and never throws', async () => {
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

describe('codes and numbers', () => {
  it('has a reaction to every code, and takes none of the ambiguous ones as a skip', () => {
    for (let code = -32001; code >= -32020; code -= 1) expect(RPC_REACTIONS[code]).toBeDefined();
    for (const code of [-32007, -32009]) {
      expect(reactionTo(new RpcError({ code, message: '' }, 'n', 'getBlock'))).toBe('ambiguous');
    }
    expect(reactionTo(new RpcError({ code: -1, message: '' }, 'n', 'm'))).toBe('elsewhere');
  });

  it('loses no digit of a u64, however it is written', () => {
    const top = 2n ** 64n - 1n;
    for (const text of [`${top}`, `"${top}"`]) expect(u64.parse(parseJson(text))).toBe(top);
    expect(u64.parse(parseJson('9007199254740993'))).toBe(9007199254740993n);
    expect(u64.parse(parseJson('0'))).toBe(0n);
    expect(parseJson('{"a":[1.5,9007199254740993]}')).toEqual({ a: [1.5, 9007199254740993n] });
    for (const bad of ['-1', '1.5', '"0x1"', 'null', '""'])
      expect(u64.safeParse(parseJson(bad)).success).toBe(false);
  });
});
