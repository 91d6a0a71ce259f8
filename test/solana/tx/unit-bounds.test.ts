import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../../devkit/localnet/localnet.ts';
import type { Chain } from '../../../src/solana/chain.ts';
import { nonceSeed } from '../../../src/solana/nonces/account.ts';
import { composeUpkeep } from '../../../src/solana/nonces/upkeep.ts';
import { type NodePool, openNodePool } from '../../../src/solana/rpc/pool.ts';
import { ataBump } from '../../../src/solana/tokens/ata.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { assembleTransaction, composeTransfer, type TransferDraft } from '../../../src/solana/tx/transfer.ts';
import { transferBounds, type UnitBounds, upkeepBounds } from '../../../src/solana/tx/unit-bounds.ts';
import { randomAddress } from '../../activities/composition-fixture.ts';
import { quickChain } from '../../support/quick-chain.ts';

const SOURCE = randomAddress();
const LIMITS = { computeUnitLimit: 1_400_000, computeUnitPriceMicroLamports: 0n };
let localnet: Localnet;
let pool: NodePool;
let chain: Chain;

beforeAll(async () => {
  localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 1, hotWallet: SOURCE });
  pool = await openNodePool(localnet.rpcUrls);
  chain = quickChain(pool);
});
afterAll(async () => {
  await pool.close();
  await localnet.close();
});

async function unitsOf(message: Uint8Array): Promise<bigint> {
  const { raw } = assembleTransaction(message, new Uint8Array(64));
  const { alike, faults } = await chain.simulations(raw, 0n, () => true);
  expect(faults).toEqual([]);
  expect(alike[0]?.error).toBeNull();
  return alike[0]?.unitsConsumed ?? 0n;
}

function expectWithin(units: bigint, { floor, ceiling }: UnitBounds): void {
  expect(units).toBeGreaterThanOrEqual(floor);
  expect(units).toBeLessThanOrEqual(ceiling);
}

async function draft(parts: Partial<TransferDraft>): Promise<TransferDraft> {
  const { blockhash } = await chain.latestBlockhash();
  const plain = { asset: 'SOL', source: SOURCE, destination: randomAddress(), memo: null, token: null };
  return { ...plain, amount: 1_000_000n, blockhash, ...parts };
}

const MEMOS = [null, 'm', '"\u0301🎉'.repeat(12), 'm'.repeat(500)];

it.each(MEMOS)('a transfer of SOL takes what its parts may: memo %j', async (memo) => {
  const sol = await draft({ memo });
  expectWithin(await unitsOf(composeTransfer({ ...sol, ...LIMITS }).message), transferBounds(sol));
});

it.each(
  (['mint', 'feeMint'] as const).flatMap((which) =>
    [true, false].flatMap((createAta) => [null, 'm'.repeat(200)].map((memo) => ({ which, createAta, memo }))),
  ),
)('a transfer of a token takes what its parts may: %j', async ({ which, createAta, memo }) => {
  const { address: mint, decimals } = localnet[which];
  const program = which === 'mint' ? TOKEN_PROGRAM : TOKEN_2022_PROGRAM;
  const destination = randomAddress();
  if (!createAta) await localnet.mintTo(mint, destination, 1n);
  localnet.controls.produceSlots(4);
  const expectedFee = which === 'mint' ? null : 10_000n;
  const token = { mint, program, decimals, createAta, expectedFee, hookAccounts: [] };
  const transfer = await draft({ asset: mint, destination, memo, token });
  const search = createAta ? 1_500n * BigInt(256 - ataBump(destination, mint, program)) : 0n;
  const units = await unitsOf(composeTransfer({ ...transfer, ...LIMITS }).message);
  expectWithin(units - search, transferBounds(transfer));
});

it('the making of a nonce account takes what its parts may', async () => {
  const { blockhash } = await chain.latestBlockhash();
  const rentLamports = await chain.rentMinimum(80);
  const upkeep = { kind: 'create', wallet: SOURCE, seed: nonceSeed(1), rentLamports, blockhash } as const;
  expectWithin(await unitsOf(composeUpkeep({ ...upkeep, ...LIMITS })), upkeepBounds('create'));
});
