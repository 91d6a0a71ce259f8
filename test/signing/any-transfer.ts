import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../src/solana/tx/programs.ts';
import type { TransferSpec } from '../../src/solana/tx/transfer.ts';

/** The same address for the same seed, from 0 to 255. */
export const addressOfSeed = (seed: number): string =>
  Keypair.fromSeed(new Uint8Array(32).fill(seed)).publicKey.toBase58();

export const SIGNER = addressOfSeed(1);
export const PRICE_CAP = 10_000_000n;

const someWallet = fc.integer({ min: 20, max: 200 }).map(addressOfSeed);
const token = fc
  .record({
    mint: someWallet,
    program: fc.constantFrom(TOKEN_PROGRAM, TOKEN_2022_PROGRAM),
    decimals: fc.integer({ min: 0, max: 18 }),
    createAta: fc.boolean(),
    fee: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  })
  .map(({ fee, ...rest }) => ({
    ...rest,
    expectedFee: rest.program === TOKEN_2022_PROGRAM ? fee : null,
    hookAccounts: [],
  }));
/** Any transfer that {@link SIGNER} may be asked to sign, at a price up to {@link PRICE_CAP}. */
export const anyTransfer: fc.Arbitrary<TransferSpec> = fc
  .record({
    amount: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
    destination: someWallet,
    memo: fc.option(fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' })),
    token: fc.option(token),
    computeUnitLimit: fc.integer({ min: 1, max: 1_400_000 }),
    computeUnitPriceMicroLamports: fc.bigInt({ min: 0n, max: PRICE_CAP }),
    blockhash: someWallet,
    lifetime: fc.constantFrom({}, { nonceAccount: addressOfSeed(8) }),
  })
  .map(({ lifetime, ...rest }) => ({
    ...rest,
    ...lifetime,
    source: SIGNER,
    asset: rest.token?.mint ?? 'SOL',
  }));
