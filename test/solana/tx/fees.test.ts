import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Localnet, startLocalnet } from '../../../devkit/localnet/localnet.ts';
import { newAddress } from '../../../devkit/localstack/keypair.ts';
import { Chain } from '../../../src/solana/chain.ts';
import { type NodePool, openNodePool } from '../../../src/solana/rpc/pool.ts';
import { FeePlanner } from '../../../src/solana/tx/fees.ts';
import {
  attemptPrice,
  maxPrice,
  priorityLamports,
  recentPrice,
} from '../../../src/solana/tx/priority-fee.ts';
import { TOKEN_PROGRAM } from '../../../src/solana/tx/programs.ts';
import { assembleTransaction, composeTransfer, type TransferDraft } from '../../../src/solana/tx/transfer.ts';
import { quickChain } from '../../support/quick-chain.ts';
import { signerOf } from '../../support/signer.ts';

const micro = fc.bigInt({ min: 0n, max: 10n ** 9n });
const salts = fc.bigInt({ min: 0n, max: 65_535n });

describe('the price of a compute unit', () => {
  it('stays within floor and cap whatever blocks paid', () => {
    fc.assert(
      fc.property(micro, micro, micro, micro, salts, (a, b, recent, last, salt) => {
        const bounds = { floorMicroLamports: a < b ? a : b, capMicroLamports: a < b ? b : a };
        const price = attemptPrice(recent, last, salt, bounds);
        expect(price).toBeGreaterThanOrEqual(bounds.floorMicroLamports);
        expect(price).toBeLessThanOrEqual(bounds.capMicroLamports);
      }),
    );
  });

  it('rises with each attempt, whatever the salts, even when blocks accept less by then', () => {
    const bounds = { floorMicroLamports: 1_000n, capMicroLamports: 10n ** 30n };
    fc.assert(
      fc.property(micro, micro, salts, salts, (before, now, salt, nextSalt) => {
        const last = attemptPrice(before, null, salt, bounds);
        expect(attemptPrice(now, last, nextSalt, bounds)).toBeGreaterThanOrEqual(2n * last);
      }),
    );
  });

  it('differs for different salts below the cap', () => {
    const bounds = { floorMicroLamports: 0n, capMicroLamports: 1_000_000n };
    const prices = Array.from({ length: 1_000 }, (_, salt) => attemptPrice(5n, null, BigInt(salt), bounds));
    expect(new Set(prices).size).toBe(1_000);
  });

  it('raises no band when it is seen again as a recent price', () => {
    fc.assert(
      fc.property(micro, fc.option(micro), salts, salts, (recent, last, salt, nextSalt) => {
        const bounds = { floorMicroLamports: 1_000n, capMicroLamports: 10n ** 30n };
        const band = (price: bigint) => (price - bounds.floorMicroLamports) / 1_000n;
        const own = attemptPrice(recent, last, salt, bounds);
        expect(band(attemptPrice(own, null, nextSalt, bounds))).toBe(band(own));
      }),
    );
  });

  it('follows the chosen percentile of 150 slots, where a slot without an answer counts as zero', () => {
    const fees = (...prices: number[]) =>
      prices.map((price, at) => ({ slot: BigInt(at + 1), prioritizationFee: BigInt(price) }));
    const every = fees(...Array.from({ length: 150 }, (_, at) => at));
    expect(recentPrice([], 150n, 0.75)).toBe(0n);
    expect(recentPrice(every, 150n, 0.75)).toBe(112n);
    expect(recentPrice(every, 150n, 1)).toBe(149n);
    expect(recentPrice(every, 300n, 1)).toBe(0n);
    expect(recentPrice(fees(...Array.from({ length: 37 }, () => 7)), 150n, 0.75)).toBe(0n);
    expect(recentPrice(fees(...Array.from({ length: 38 }, () => 7)), 150n, 0.75)).toBe(7n);
  });

  it('is limited so that the fee fits its bound', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_400_000 }),
        fc.bigInt({ min: 0n, max: 10n ** 9n }),
        (limit, maxLamports) => {
          const price = maxPrice(limit, maxLamports);
          expect(priorityLamports(limit, price)).toBeLessThanOrEqual(maxLamports);
          expect(priorityLamports(limit, price + 1n)).toBeGreaterThan(maxLamports);
        },
      ),
    );
  });

  it('rounds the fee up to whole lamports', () => {
    expect(priorityLamports(450, 1_000n)).toBe(1n);
    expect(priorityLamports(1_000_000, 1n)).toBe(1n);
    expect(priorityLamports(1_000_001, 1n)).toBe(2n);
    expect(priorityLamports(450, 0n)).toBe(0n);
  });
});

/** The real chain, with a list of the accounts of each question about prices. */
class ListeningChain extends Chain {
  readonly asked: (readonly string[])[] = [];

  override recentPrice(accounts: readonly string[], percentile: number): Promise<bigint> {
    this.asked.push(accounts);
    return super.recentPrice(accounts, percentile);
  }
}

describe('the price on a chain', () => {
  const PRICES = { floorMicroLamports: 1_000n, capMicroLamports: 1_000_000n, maxFeeLamports: 500_000n };
  const key = Keypair.generate();
  const source = key.publicKey.toBase58();
  let localnet: Localnet;
  let pool: NodePool;

  beforeAll(async () => {
    localnet = await startLocalnet({ slotMs: 0, finalityLag: 2, nodes: 1, hotWallet: source });
    pool = await openNodePool(localnet.rpcUrls);
  });
  afterAll(async () => {
    await pool.close();
    await localnet.close();
  });

  async function draftTo(chain: Chain, destination: string): Promise<TransferDraft> {
    const { blockhash } = await chain.latestBlockhash();
    return {
      asset: 'SOL',
      amount: 1_000_000n,
      source,
      destination,
      memo: null,
      token: null,
      blockhash,
    };
  }

  it('is requested for every account that other payers may lock, and once for concurrent transfers', async () => {
    const chain = new ListeningChain(pool);
    const fees = new FeePlanner(chain, PRICES);
    const destinations = Array.from({ length: 100 }, newAddress);
    await Promise.all(
      destinations.map(async (destination) => fees.plan(await draftTo(chain, destination), null, 0n)),
    );
    expect(chain.asked).toHaveLength(1);
    expect([...(chain.asked[0] ?? [])].sort()).toEqual(destinations.toSorted());
  });

  it('is requested for no more accounts at once than a node accepts', async () => {
    const chain = new ListeningChain(pool);
    const fees = new FeePlanner(chain, PRICES);
    await Promise.all(
      Array.from({ length: 200 }, async () => fees.plan(await draftTo(chain, newAddress()), null, 0n)),
    );
    expect(chain.asked.map((accounts) => accounts.length)).toEqual([128, 72]);
  });

  it('never uses the compute units of an existing token account for a new one', async () => {
    const fees = new FeePlanner(quickChain(pool), PRICES);
    const { mint } = localnet;
    const tokenDraft = async (destination: string): Promise<TransferDraft> => ({
      ...(await draftTo(quickChain(pool), destination)),
      asset: mint.address,
      token: {
        mint: mint.address,
        program: TOKEN_PROGRAM,
        decimals: mint.decimals,
        createAta: true,
        expectedFee: null,
        hookAccounts: [],
      },
    });
    const twin = newAddress();
    const draft = await tokenDraft(twin);
    localnet.controls.queueMintTo(mint.address, twin, 1n);
    localnet.controls.produceSlots(2);
    await expect(fees.plan(draft, null, 0n)).rejects.toMatchObject({
      code: 'NodeFault',
      message: expect.stringContaining('is being created by another transaction'),
    });
    const first = await fees.plan(await tokenDraft(newAddress()), null, 0n);
    expect(first.computeUnitLimit).toBeGreaterThan(15_000);
    expect((await fees.plan(draft, null, 0n)).computeUnitLimit).toBeGreaterThan(15_000);
  });

  it('follows the prices that others paid to lock the destination', async () => {
    const chain = quickChain(pool);
    const signer = await signerOf(key);
    const popular = newAddress();
    let amount = 1_000_000n;
    const pay = async (destination: string, computeUnitPriceMicroLamports: bigint): Promise<void> => {
      amount += 1n;
      const limits = { computeUnitLimit: 1_000, computeUnitPriceMicroLamports, amount };
      const message = composeTransfer({ ...(await draftTo(chain, destination)), ...limits });
      await chain.send(assembleTransaction(message, await signer.sign(message)).raw);
    };
    // In one block, so that the block is not expensive.
    for (let block = 0; block < 38; block += 1) {
      await pay(popular, 77_000n);
      await pay(newAddress(), 0n);
      localnet.controls.produceSlots(1);
    }
    localnet.controls.produceSlots(4);
    const planned = async (destination: string) =>
      new FeePlanner(chain, PRICES).plan(await draftTo(chain, destination), null, 0n);
    expect((await planned(popular)).computeUnitPriceMicroLamports).toBe(77_000n);
    expect((await planned(newAddress())).computeUnitPriceMicroLamports).toBe(PRICES.floorMicroLamports);
  });
});
