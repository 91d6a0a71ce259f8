import { createKeyPairSignerFromBytes } from '@solana/kit';
import { SOLANA_DEVNET_CAIP2 } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkExact } from '../../src/x402/rules/exact.ts';
import { Bench } from '../localnet/support.ts';
import * as buyer from '../x402/rules/buyer.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start({ slotMs: 20, finalityLag: 8, nodes: 1 });
});
afterAll(() => bench.localnet.close());

describe('a transaction of the official client', () => {
  it.each([
    ['any memo', null],
    ['the memo of the terms', 'order 7'],
  ])('keeps the rules of exact, with %s', async (_name, memo) => {
    const { rpcUrls, plantedMint } = bench.localnet;
    const signer = await createKeyPairSignerFromBytes(buyer.buyerKey.secretKey);
    const scheme = new ExactSvmScheme(signer, { rpcUrl: rpcUrls[0] ?? '' });
    const asset = plantedMint.address;
    const { payload } = await scheme.createPaymentPayload(2, {
      scheme: 'exact',
      network: SOLANA_DEVNET_CAIP2,
      asset,
      amount: String(buyer.PRICE),
      payTo: buyer.SELLER,
      maxTimeoutSeconds: 60,
      extra: { feePayer: buyer.FEE_PAYER, ...(memo !== null && { memo }) },
    });
    const wire = Buffer.from(String(payload['transaction']), 'base64');
    const terms = { ...buyer.TERMS, asset, memo };
    const payment = buyer.paid(checkExact(wire, terms, buyer.BOUNDS));
    expect(payment).toMatchObject({ payer: buyer.BUYER, amount: buyer.PRICE, feeLamports: 10_001n });
    expect(checkExact(wire, { ...terms, memo: 'order 8' }, buyer.BOUNDS).ok).toBe(false);
  });
});
