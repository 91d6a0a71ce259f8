import { base58, base64 } from '@scure/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Composer, type Composition } from '../../src/activities/composition.ts';
import { blockhashLifetimes } from '../../src/activities/lifetimes.ts';
import { type Localnet, startLocalnet } from '../../src/localnet/localnet.ts';
import { deriveAta } from '../../src/solana/ata.ts';
import { Chain } from '../../src/solana/chain.ts';
import { FeePlanner } from '../../src/solana/fees.ts';
import { readMint } from '../../src/solana/mint.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/programs.ts';
import { ACCOUNT_BYTES } from '../../src/solana/rpc/methods.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { assembleTransaction } from '../../src/solana/transactions.ts';
import { randomAddress, withdrawalRow } from './composing.ts';

const HOT = randomAddress();
const PRICES = { floorMicroLamports: 1_000n, capMicroLamports: 1_000_000n };
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;
let composer: Composer;

beforeEach(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 2, hotWallet: HOT });
  localnet.controls.produceSlots(100);
  pool = await openNodePool(localnet.rpcUrls);
  chain = new Chain(pool);
  composer = new Composer({
    chain,
    fees: new FeePlanner(chain, PRICES),
    lifetimes: blockhashLifetimes(chain),
    rules: { hotWallet: HOT, confirmUsedWallet: false, tokenPolicy: {} },
    bounds: { priceCapMicroLamports: PRICES.capMicroLamports, allowHookAccounts: false },
  });
});
afterEach(async () => {
  await pool.close();
  await localnet.close();
});

function pay(destination: string, asset = localnet.mint.address): Promise<Composition> {
  return composer.compose(withdrawalRow(asset, { destination }), 1, 0n);
}

/** Units that the composed message uses now, and its limit. */
async function unitsOf(composition: Composition): Promise<{ readonly used: number; readonly limit: number }> {
  if (composition.kind !== 'composed') throw new Error(`not composed: ${composition.reason.message}`);
  const { message, computeUnitLimit } = composition.attempt;
  const { raw } = assembleTransaction(base64.decode(message), new Uint8Array(64));
  const { error, unitsConsumed } = await chain.simulate(raw, 0n);
  expect(error).toBeNull();
  return { used: Number(unitsConsumed), limit: computeUnitLimit };
}

const REFUSED = {
  kind: 'result',
  result: {
    context: { slot: 100 },
    value: { err: { InstructionError: [2, 'InvalidAccountData'] }, logs: [], unitsConsumed: 9 },
  },
} as const;

describe('a withdrawal is not rejected for good', () => {
  it('by a node that lags behind the token account which another one showed', async () => {
    const destination = randomAddress();
    await localnet.mintTo(localnet.mint.address, destination, 1n);
    localnet.controls.produceSlots(10);
    localnet.controls.setFault(1, '*', { kind: 'lag', blocks: 60 });
    localnet.controls.setFault(0, 'simulateTransaction', { kind: 'http', status: 503 });
    await expect(pay(destination)).rejects.toMatchObject({ code: -32016 });
    localnet.controls.clearFaults();
    expect((await pay(destination)).kind).toBe('composed');
  });

  it('by one node whose simulation fails where that of another one does not', async () => {
    localnet.controls.setFault(0, 'simulateTransaction', REFUSED);
    expect((await pay(randomAddress())).kind).toBe('composed');
  });

  it('by one node while no other can try it, but by two', async () => {
    localnet.controls.setFault(0, 'simulateTransaction', REFUSED);
    localnet.controls.setFault(1, 'simulateTransaction', { kind: 'http', status: 503 });
    await expect(pay(randomAddress())).rejects.toMatchObject({
      message: expect.stringContaining('alone says'),
    });
    localnet.controls.clearFaults();
    for (const node of [0, 1]) localnet.controls.setFault(node, 'simulateTransaction', REFUSED);
    expect(await pay(randomAddress())).toMatchObject({ kind: 'rejected', reason: { code: 'would_fail' } });
  });
});

it.each(['mint', 'feeMint'] as const)(
  'a token account at an address that somebody sent lamports to has a limit of its own (%s)',
  async (which) => {
    const { address } = localnet[which];
    const program = which === 'mint' ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM;
    await unitsOf(await pay(randomAddress(), address));
    const funded = randomAddress();
    await localnet.airdrop(deriveAta(funded, address, program), 1_000_000n);
    localnet.controls.produceSlots(4);
    const { used, limit } = await unitsOf(await pay(funded, address));
    expect(limit).toBeGreaterThan(used * 1.15);
  },
);

it('accounts too long for an answer spoil no other question of their moment', async () => {
  const [program] = (await chain.accounts([TOKEN_2022_PROGRAM])).accounts;
  // A program of the upgradeable loader is its kind and the address of its code.
  const code = base58.encode(program?.data.subarray(4, 36) ?? new Uint8Array());
  const narrow = await openNodePool(localnet.rpcUrls, { maxBytes: 100_000 });
  const { accounts } = await new Chain(narrow).accounts([code, HOT]);
  await narrow.close();
  expect(accounts[0]?.data.length).toBe(ACCOUNT_BYTES);
  expect(accounts[1]?.lamports).toBeGreaterThan(0n);
});

it('a mint that cannot be read whole is rejected', async () => {
  const data = new Uint8Array(ACCOUNT_BYTES);
  const [mint] = (await chain.accounts([localnet.feeMint.address])).accounts;
  if (mint === undefined || mint === null) throw new Error('the mint is planted');
  data.set(mint.data);
  expect(() => readMint(localnet.feeMint.address, { ...mint, data })).toThrow(
    `${ACCOUNT_BYTES} bytes or more`,
  );
});
