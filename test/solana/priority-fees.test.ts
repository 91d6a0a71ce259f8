import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newAddress } from '../../devkit/localstack/keypair.ts';
import { deriveAta } from '../../src/solana/tokens/ata.ts';
import { type FeeChain, FeePlanner } from '../../src/solana/tx/fees.ts';
import { type RecentFee, recentPrice } from '../../src/solana/tx/priority-fee.ts';
import { TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import type { TransferDraft } from '../../src/solana/tx/transfer.ts';
import { QUICK_PRICES } from '../support/quick-chain.ts';

const FLOOR = QUICK_PRICES.floorMicroLamports;
const CAP = QUICK_PRICES.capMicroLamports;
const SOURCE = newAddress();
const MINT = newAddress();

function draftTo(destination: string, asset: 'SOL' | 'token' = 'SOL'): TransferDraft {
  const token = { mint: MINT, program: TOKEN_PROGRAM, decimals: 6, createAta: false, expectedFee: null };
  return {
    asset: asset === 'SOL' ? 'SOL' : MINT,
    amount: 5n,
    source: SOURCE,
    destination,
    memo: null,
    token: asset === 'SOL' ? null : { ...token, hookAccounts: [] },
    blockhash: SOURCE,
  };
}

/** The account of the payee that a payment locks. */
function payeeOf({ destination, token }: TransferDraft): string {
  return token === null ? destination : deriveAta(destination, token.mint, token.program);
}

interface Landed {
  readonly price: bigint;
  readonly writable: readonly string[];
}

/**
 * Answers for prices as Agave's prioritization_fee_cache.rs does: for each of the last 150 blocks the larger of its lowest price and the lowest one
 * paid by a transaction that locks an account asked for. `every` = releases before 3: also for blocks without a transaction.
 */
class AgaveChain implements FeeChain {
  readonly #blocks: { readonly slot: bigint; readonly landed: readonly Landed[] }[] = [];
  readonly #every: boolean;
  #slot = 1_000n;

  constructor(every = false) {
    this.#every = every;
  }

  land(...landed: readonly Landed[]): void {
    this.#slot += 1n;
    if (this.#every || landed.length > 0) this.#blocks.push({ slot: this.#slot, landed });
    if (this.#blocks.length > 150) this.#blocks.shift();
  }

  idle(blocks: number): void {
    for (let count = 0; count < blocks; count += 1) this.land();
  }

  answer(accounts: readonly string[]): RecentFee[] {
    const least = (prices: readonly bigint[]) => prices.toSorted((a, b) => (a < b ? -1 : 1))[0] ?? 0n;
    return this.#blocks.map(({ slot, landed }) => {
      const all = least(landed.map(({ price }) => price));
      const locks = accounts.map((account) =>
        least(landed.flatMap(({ price, writable }) => (writable.includes(account) ? [price] : []))),
      );
      return { slot, prioritizationFee: [all, ...locks].reduce((a, b) => (a > b ? a : b)) };
    });
  }

  recentPrice = async (accounts: readonly string[], percentile: number): Promise<bigint> =>
    recentPrice(this.answer(accounts), this.#slot, percentile);

  baseFee = async (): Promise<bigint> => 5_000n;

  simulations: FeeChain['simulations'] = async () => ({
    quorumResults: [{ node: 'one', slot: 1n, error: null, logs: [], unitsConsumed: 450n, accounts: null }],
    otherResults: [],
    faults: [],
  });
}

let salt = 0;

/** Plans a payment and lands it in a block of its own. */
async function pay(
  chain: AgaveChain,
  fees: FeePlanner,
  draft: TransferDraft,
  last: bigint | null = null,
): Promise<bigint> {
  salt = (salt * 31 + 7_919) % 65_536;
  const { computeUnitPriceMicroLamports: price } = await fees.plan(draft, last, BigInt(salt));
  chain.land({ price, writable: [SOURCE, payeeOf(draft)] });
  return price;
}

describe('the own payments of a payer', () => {
  const one = newAddress();

  it.each([
    { apart: 10, to: 'one destination', every: false, payouts: 1_000 },
    { apart: 75, to: 'one destination', every: false, payouts: 1_000 },
    { apart: 200, to: 'one destination', every: false, payouts: 1_000 },
    { apart: 1, to: 'many destinations', every: false, payouts: 500 },
    { apart: 10, to: 'many destinations', every: true, payouts: 500 },
    { apart: 1, to: 'one token account', every: true, payouts: 200 },
  ])(
    'keep the price of an idle chain within twice the floor: $payouts payouts $apart blocks apart to $to',
    async ({ apart, to, every, payouts }) => {
      const chain = new AgaveChain(every);
      const fees = new FeePlanner(chain, QUICK_PRICES);
      let highest = 0n;
      for (let payout = 0; payout < payouts; payout += 1) {
        const destination = to === 'many destinations' ? newAddress() : one;
        const price = await pay(
          chain,
          fees,
          draftTo(destination, to === 'one token account' ? 'token' : 'SOL'),
        );
        if (price > highest) highest = price;
        chain.idle(apart - 1);
      }
      expect(highest).toBeLessThanOrEqual(2n * FLOOR);
    },
  );

  it('offer twice as much with each attempt, up to the cap, and the next payment begins low again', async () => {
    const chain = new AgaveChain();
    const fees = new FeePlanner(chain, QUICK_PRICES);
    const tries = [await pay(chain, fees, draftTo(one))];
    while ((tries.at(-1) ?? CAP) < CAP / 2n) tries.push(await pay(chain, fees, draftTo(one), tries.at(-1)));
    for (const [at, price] of tries.slice(1).entries())
      expect(price).toBeGreaterThanOrEqual(2n * (tries[at] ?? 0n));
    expect(tries.length).toBeGreaterThan(5);
    expect(await pay(chain, fees, draftTo(one))).toBeLessThanOrEqual(2n * FLOOR);
  });
});

describe('a price that others pay', () => {
  const contended = fc.record({
    price: fc.bigInt({ min: 2_000n, max: CAP }),
    share: fc.integer({ min: 0, max: 150 }),
    asset: fc.constantFrom('SOL' as const, 'token' as const),
  });

  it('is followed when a quarter of the recent blocks or more pay it to lock the destination, and ignored below', async () => {
    await fc.assert(
      fc.asyncProperty(contended, async ({ price, share, asset }) => {
        const chain = new AgaveChain();
        const draft = draftTo(newAddress(), asset);
        // A transaction that pays nothing is in each block.
        for (let block = 0; block < 150; block += 1) {
          const others = block < share ? [{ price, writable: [payeeOf(draft), newAddress()] }] : [];
          chain.land({ price: 0n, writable: [newAddress()] }, ...others);
        }
        const offered = await pay(chain, new FeePlanner(chain, QUICK_PRICES), draft);
        if (share < 38) expect(offered).toBeLessThanOrEqual(2n * FLOOR);
        else expect(offered).toBeGreaterThan(price - 1_000n);
        expect(offered).toBeLessThanOrEqual(price > 2n * FLOOR ? price + 1_000n : 3n * FLOOR);
      }),
      { numRuns: 30 },
    );
  });

  it('is ignored when it only locks Sluice accounts', async () => {
    const chain = new AgaveChain();
    for (let block = 0; block < 150; block += 1)
      chain.land({ price: 0n, writable: [newAddress()] }, { price: 90_000n, writable: [SOURCE] });
    expect(await pay(chain, new FeePlanner(chain, QUICK_PRICES), draftTo(newAddress()))).toBeLessThanOrEqual(
      2n * FLOOR,
    );
  });

  it('counts while it is recent, however few blocks hold a transaction', async () => {
    const chain = new AgaveChain();
    const fees = new FeePlanner(chain, QUICK_PRICES);
    for (let block = 0; block < 150; block += 1) chain.land({ price: 90_000n, writable: [newAddress()] });
    expect(await pay(chain, fees, draftTo(newAddress()))).toBeGreaterThan(89_000n);
    chain.idle(200);
    expect(await pay(chain, fees, draftTo(newAddress()))).toBeLessThanOrEqual(2n * FLOOR);
  });
});
