import { base58, base64 } from '@scure/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { Composition } from '../../src/settlement/kind.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import type { Chain } from '../../src/solana/chain.ts';
import { MAX_ACCOUNT_BYTES } from '../../src/solana/rpc/methods.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { readMint } from '../../src/solana/tokens/mint.ts';
import { newTokenAccountData } from '../../src/solana/tokens/token-account.ts';
import { FeePlanner } from '../../src/solana/tx/fees.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { assembleTransaction } from '../../src/solana/tx/transfer.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import { type FalseResult, startLiar } from '../solana/lying-node.ts';
import type { ScriptedNode } from '../solana/rpc-scripted-node.ts';
import { QUICK_PRICES, quickChain } from '../support/quick-chain.ts';
import { FIRST_ATTEMPT, withdrawalRow } from './composition-fixture.ts';

const HOT = newAddress();
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
let composer: Composer;
let liar: ScriptedNode | null = null;

beforeEach(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 2, hotWallet: HOT });
  localnet.controls.produceSlots(100);
  pool = await openNodePool(localnet.rpcUrls);
  composer = composerOf(pool);
});
afterEach(async () => {
  await pool.close();
  await liar?.close();
  await localnet.close();
  liar = null;
});

function composerOf(nodes: NodePool): Composer {
  chain = quickChain(nodes);
  return new Composer({
    chain,
    fees: new FeePlanner(chain, QUICK_PRICES),
    lifetimes: blockhashLifetimes(chain),
    rules: { hotWallet: HOT, confirmUsedWallet: false, tokenPolicy: {} },
    bounds: {
      priceCapMicroLamports: QUICK_PRICES.capMicroLamports,
      maxFeeLamports: 500_000n,
      allowHookAccounts: false,
    },
  });
}

/** Makes the best of two or three nodes return the account at `address` as changed by `change`. */
async function lieAbout(address: string, change: (truth: unknown) => unknown, honest = 1): Promise<void> {
  const lie: FalseResult = ({ method, params }, said) => {
    // It claims to be ahead, so it is asked first.
    if (method === 'getSlot') return Number(said) + 80;
    if (method !== 'getMultipleAccounts') return undefined;
    const { context, value } = said as { context: object; value: unknown[] };
    const asked = params[0] as string[];
    return { context, value: value.map((own, at) => (asked[at] === address ? change(own) : own)) };
  };
  liar = await startLiar(localnet.rpcUrls[0] ?? '', () => lie);
  await pool.close();
  pool = await openNodePool([liar.url, ...localnet.rpcUrls.slice(-honest)]);
  composer = composerOf(pool);
}

/** The account of a mint with another number of decimals. */
function withDecimals(decimals: number): (mint: unknown) => unknown {
  return (mint) => {
    const { data, ...rest } = mint as { readonly data: readonly [string, string] };
    const bytes = base64.decode(data[0]);
    bytes[44] = decimals;
    return { ...rest, data: [base64.encode(bytes), 'base64'] };
  };
}

function pay(destination: string, asset = localnet.mint.address): Promise<Composition> {
  const amount = asset === 'SOL' ? 2_000_000n : 1_000n;
  return composer.compose(withdrawalRow(asset, { destination, amount }), FIRST_ATTEMPT);
}

/** Units that the composed message uses now, and its limit. */
async function unitsOf(composition: Composition): Promise<{ readonly used: number; readonly limit: number }> {
  if (composition.kind !== 'composed') throw new Error(`not composed: ${composition.reason.message}`);
  const { message, computeUnitLimit } = composition.attempt;
  const { raw } = assembleTransaction(base64.decode(message), new Uint8Array(64));
  const { unitsConsumed = null } = (await chain.simulations(raw, 0n, () => true)).quorumResults[0] ?? {};
  expect(unitsConsumed).not.toBeNull();
  return { used: Number(unitsConsumed), limit: computeUnitLimit };
}

const REFUSED = {
  kind: 'result',
  result: {
    context: { slot: 100 },
    value: {
      err: { InstructionError: [2, { Custom: 37 }] },
      logs: [`Program ${TOKEN_2022_PROGRAM} failed: custom program error: 0x25`],
      unitsConsumed: 9,
    },
  },
} as const;

describe('a withdrawal is not rejected', () => {
  it('by a node that lags behind the token account of another node', async () => {
    const destination = newAddress();
    await localnet.airdrop(destination, 5_000_000n);
    await localnet.mintTo(localnet.mint.address, destination, 1n);
    localnet.controls.produceSlots(10);
    localnet.controls.setFault(1, 'simulateTransaction', { kind: 'lag', blocks: 60 });
    localnet.controls.setFault(0, 'simulateTransaction', { kind: 'http', status: 503 });
    await expect(pay(destination)).rejects.toMatchObject({
      code: 'NodeFault',
      message: expect.stringContaining('Minimum context slot'),
    });
    localnet.controls.clearFaults();
    expect((await pay(destination)).kind).toBe('composed');
  });

  it('by one node whose simulation fails while that of another node succeeds', async () => {
    localnet.controls.setFault(0, 'simulateTransaction', REFUSED);
    await expect(pay(newAddress())).rejects.toMatchObject({
      code: 'NodeFault',
      message: expect.stringContaining('no quorum of nodes returns the same simulation of the transfer'),
    });
  });

  it('by one node while no other can simulate it, but by two', async () => {
    localnet.controls.setFault(0, 'simulateTransaction', REFUSED);
    localnet.controls.setFault(1, 'simulateTransaction', { kind: 'http', status: 503 });
    await expect(pay(newAddress())).rejects.toMatchObject({
      message: expect.stringContaining(': the transfer fails: '),
    });
    localnet.controls.clearFaults();
    for (const node of [0, 1]) localnet.controls.setFault(node, 'simulateTransaction', REFUSED);
    expect(await pay(newAddress())).toMatchObject({ kind: 'rejected', reason: { code: 'would_fail' } });
  });
});

describe('one node that lies about an account', () => {
  const account = (owner: string, data: Uint8Array) => ({
    lamports: 5_000_000,
    owner,
    data: [base64.encode(data), 'base64'],
    executable: false,
    rentEpoch: 0,
    space: data.length,
  });
  const owned = (owner: string) => account(owner, new Uint8Array(3));

  it('causes no SOL payment to a mint that it does not show', async () => {
    await lieAbout(localnet.mint.address, () => null);
    await expect(pay(localnet.mint.address, 'SOL')).rejects.toMatchObject({ code: 'NodeFault' });
  });

  it('is not confirmed by a second node that lags behind it', async () => {
    localnet.controls.setFault(1, '*', { kind: 'lag', blocks: 60 });
    await expect(pay(newAddress(), 'SOL')).rejects.toThrow(/nodes disagree about .* \(slots: /);
  });

  it.each([
    ['a wallet that it gives another owner', 'SOL', () => newAddress()],
    ['a mint that it does not show', 'token', () => localnet.mint.address],
    ['a mint that it gives another owner', 'token', () => localnet.mint.address],
  ])('causes no rejection of a withdrawal for %s', async (reason, asset, addressOf) => {
    const address = addressOf();
    await lieAbout(address, () => (reason.endsWith('owner') ? owned(newAddress()) : null));
    const paid = asset === 'SOL' ? pay(address, 'SOL') : pay(newAddress());
    await expect(paid).rejects.toMatchObject({ code: 'NodeFault' });
  });

  const ataOf = (owner: string) => deriveAta(owner, localnet.mint.address, TOKEN_PROGRAM);
  const tokenAccount = (owner: string) => newTokenAccountData(localnet.mint.address, owner);
  const receiver = newAddress();
  // A separate program, which owns no token account of Sluice.
  const foreign = newAddress();
  const NINE_DECIMALS = 9;

  it.each([
    ['other decimals of the mint', () => localnet.mint.address, withDecimals(NINE_DECIMALS)],
    [
      'a token account that the receiver does not have',
      () => ataOf(receiver),
      () => account(TOKEN_PROGRAM, tokenAccount(receiver)),
    ],
    ["the receiver's token account in foreign hands", () => ataOf(receiver), () => owned(TOKEN_2022_PROGRAM)],
    ['our token account in foreign hands', () => ataOf(HOT), () => owned(foreign)],
    [
      'another owner of our token account',
      () => ataOf(HOT),
      () => account(TOKEN_PROGRAM, tokenAccount(foreign)),
    ],
  ] as const)('causes no rejection of a token withdrawal for %s', async (_what, addressOf, change) => {
    await lieAbout(addressOf(), change);
    await expect(pay(receiver)).rejects.toMatchObject({ code: 'NodeFault' });

    await pool.close();
    await liar?.close();
    await lieAbout(addressOf(), change, 2);
    const [best] = pool.nodes;
    expect((await pay(receiver)).kind).toBe('composed');
    expect(pool.warnings()).toMatchObject([{ kind: 'node_false_answer', node: best?.name }]);
  });

  it('is detected by one request to another node for all withdrawals that are composed together', async () => {
    const asked: string[][] = [];
    for (const [at, node] of pool.nodes.entries()) {
      const call = node.call.bind(node);
      node.call = (method, params, schema) => {
        if (method === 'getMultipleAccounts')
          asked.push([String(at), String((params[0] as string[]).length)]);
        return call(method, params, schema);
      };
    }
    const empty = Array.from({ length: 20 }, () => newAddress());
    const composed = await Promise.all(empty.map((destination) => pay(destination, 'SOL')));
    expect(new Set(composed.map(({ kind }) => kind))).toEqual(new Set(['composed']));
    expect(asked).toEqual([
      ['0', '21'],
      ['1', '21'],
    ]);
    await localnet.airdrop(empty[0] ?? '', 5_000_000n);
    localnet.controls.produceSlots(5);
    expect((await pay(empty[0] ?? '', 'SOL')).kind).toBe('composed');
    expect(asked.slice(2)).toEqual([
      ['0', '2'],
      ['1', '2'],
    ]);
  });
});

describe('a token account at an address that already holds lamports', () => {
  it.each(['mint', 'feeMint'] as const)('has a separate compute limit (%s)', async (which) => {
    const { address } = localnet[which];
    const program = which === 'mint' ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM;
    await unitsOf(await pay(newAddress(), address));
    const funded = newAddress();
    await localnet.airdrop(deriveAta(funded, address, program), 1_000_000n);
    localnet.controls.produceSlots(4);
    const { used, limit } = await unitsOf(await pay(funded, address));
    expect(limit).toBeGreaterThan(used * 1.15);
  });

  it.each([-1n, 0n, 1_000_000n])('is created and paid with the rent and %s lamports', async (more) => {
    const rent = 2_039_280n;
    const destination = newAddress();
    await localnet.airdrop(deriveAta(destination, localnet.mint.address, TOKEN_PROGRAM), rent + more);
    localnet.controls.produceSlots(4);
    const composed = await pay(destination);
    await unitsOf(composed);
    expect(composed).toMatchObject({ attempt: { rentLamports: more < 0n ? -more : 0n } });
  });
});

it('an account too long for one answer affects no other request in the same batch', async () => {
  const [program] = (await chain.accounts([TOKEN_2022_PROGRAM])).accounts;
  // A program of the upgradeable loader is its kind and the address of its code.
  const code = base58.encode(program?.data.subarray(4, 36) ?? new Uint8Array());
  const narrow = await openNodePool(localnet.rpcUrls, { maxBytes: 100_000 });
  const { accounts } = await quickChain(narrow).accounts([code, HOT]);
  await narrow.close();
  expect(accounts[0]?.data.length).toBe(MAX_ACCOUNT_BYTES);
  expect(accounts[1]?.lamports).toBeGreaterThan(0n);
});

it('a mint that cannot be read completely is rejected', async () => {
  const data = new Uint8Array(MAX_ACCOUNT_BYTES);
  const [mint] = (await chain.accounts([localnet.feeMint.address])).accounts;
  if (mint === undefined || mint === null) throw new Error('the mint is planted');
  data.set(mint.data);
  expect(() => readMint(localnet.feeMint.address, { ...mint, data })).toThrow(
    `${MAX_ACCOUNT_BYTES} bytes or more`,
  );
});
