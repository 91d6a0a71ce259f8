import { base64 } from '@scure/base';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../devkit/localnet/localnet.ts';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import type { Composition } from '../../src/settlement/kind.ts';
import { blockhashLifetimes } from '../../src/settlement/lifetimes.ts';
import { type NodePool, openNodePool } from '../../src/solana/rpc/pool.ts';
import { type FeeOptions, FeePlanner } from '../../src/solana/tx/fees.ts';
import { decodeMessage } from '../../src/solana/tx/message.ts';
import { priorityLamports } from '../../src/solana/tx/priority-fee.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import { Composer } from '../../src/withdrawals/compose.ts';
import { QUICK_PRICES, quickChain } from '../support/quick-chain.ts';
import { FIRST_ATTEMPT, withdrawalRow } from './composition-fixture.ts';

const HOT = newAddress();
let localnet: Localnet;
let pool: NodePool;

beforeEach(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 3, hotWallet: HOT });
  localnet.controls.produceSlots(100);
});
afterEach(async () => {
  await pool.close();
  await localnet.close();
});

async function payVia(nodes: number, options: Partial<FeeOptions> = {}, asset = 'SOL'): Promise<Composition> {
  pool = await openNodePool(localnet.rpcUrls.slice(0, nodes));
  return composerOn(options).compose(withdrawalRow(asset, { amount: 2_000_000n }), FIRST_ATTEMPT);
}

function composerOn(options: Partial<FeeOptions>): Composer {
  const chain = quickChain(pool);
  return new Composer({
    chain,
    fees: new FeePlanner(chain, { ...QUICK_PRICES, ...options }),
    lifetimes: blockhashLifetimes(chain),
    rules: { hotWallet: HOT, confirmUsedWallet: false, tokenPolicy: {} },
    bounds: { priceCapMicroLamports: 5_000_000n, maxFeeLamports: 500_000n, allowHookAccounts: false },
  });
}

function limitsOf(composition: Composition): { readonly units: number; readonly price: bigint } {
  if (composition.kind !== 'composed') throw new Error(composition.reason.message);
  const { message, computeUnitLimit, computeUnitPriceMicroLamports } = composition.attempt;
  expect(decodeMessage(base64.decode(message))).toMatchObject({
    computeUnitLimit,
    computeUnitPriceMicroLamports,
  });
  return { units: computeUnitLimit, price: computeUnitPriceMicroLamports };
}

/** Makes these nodes return other units than a transfer uses. */
function count(units: number, nodes: readonly number[]): void {
  const value = { err: null, logs: [], unitsConsumed: units };
  for (const node of nodes)
    localnet.controls.setFault(node, 'simulateTransaction', {
      kind: 'result',
      result: { context: { slot: 101 }, value },
    });
}

/** Makes a node count them in the same slot as the others. */
function countNow(units: number, node: number): void {
  localnet.controls.setFault(node, 'simulateTransaction', { kind: 'false-units', units });
}

function price(prioritizationFee: number, nodes: readonly number[]): void {
  const result = Array.from({ length: 150 }, (_, at) => ({ slot: at, prioritizationFee }));
  for (const node of nodes)
    localnet.controls.setFault(node, 'getRecentPrioritizationFees', { kind: 'result', result });
}

it.each([
  [1_200_000, countNow],
  [1, countNow],
  [1_200_000, (units: number, node: number) => count(units, [node])],
])(
  'one node of three that returns %i compute units sets no limit, in the slot of the others or not',
  async (units, answer) => {
    answer(units, 0);
    localnet.controls.produceSlots(10);
    expect(limitsOf(await payVia(3)).units).toBe(540);
  },
);

it.each([1_200_000, 1])('one node of two that returns %i compute units delays the payment', async (units) => {
  count(units, [0]);
  await expect(payVia(2)).rejects.toMatchObject({
    code: 'NodeFault',
    message: expect.stringContaining('no quorum of nodes returns the same simulation of the transfer'),
  });
});

it.each([2, 3])('one node of %i that returns high prices sets no price', async (nodes) => {
  price(900_000, [0]);
  expect(limitsOf(await payVia(nodes)).price).toBeLessThan(2_000n);
});

it('the price follows what two nodes of three return', async () => {
  price(90_000, [0, 1]);
  expect(limitsOf(await payVia(3)).price).toBe(90_000n);
});

it('the price is lowered to fit the bound of the whole fee', async () => {
  price(900_000, [0, 1]);
  const { units, price: offered } = limitsOf(await payVia(2, { maxFeeLamports: 5_100n }));
  expect(priorityLamports(units, offered)).toBe(100n);
  expect(offered).toBeGreaterThan(180_000n);
});

it.each([5_000n, 4_999n])(
  'a payment is not composed when even the lowest price exceeds its fee bound: %i',
  async (maxFeeLamports) => {
    await expect(payVia(2, { maxFeeLamports })).rejects.toMatchObject({
      code: 'FeeAboveBound',
      message: expect.stringContaining(`SLUICE_MAX_FEE_LAMPORTS is ${maxFeeLamports}`),
    });
  },
);

it('a mint with other decimals is simulated again, and no cached simulation applies to it', async () => {
  pool = await openNodePool(localnet.rpcUrls.slice(0, 2));
  const chain = quickChain(pool);
  const fees = new FeePlanner(chain, QUICK_PRICES);
  const { address: mint, decimals } = localnet.mint;
  const token = { mint, program: TOKEN_PROGRAM, createAta: true, expectedFee: null, hookAccounts: [] };
  const { blockhash } = await chain.latestBlockhash();
  const draft = { asset: mint, amount: 5n, source: HOT, destination: newAddress(), memo: null, blockhash };
  await fees.plan({ ...draft, token: { ...token, decimals } }, null, 0n);
  await expect(fees.plan({ ...draft, token: { ...token, decimals: 9 } }, null, 0n)).rejects.toMatchObject({
    code: 'NodeFault',
    message: expect.stringContaining('the mint has a different number of decimals'),
  });
});
