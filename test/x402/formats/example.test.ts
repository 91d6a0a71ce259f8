import fc from 'fast-check';
import { LosslessNumber, parse } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { U64_MAX } from '../../../src/domain/amount.ts';
import { EXAMPLE_NETWORKS, paidResponse, quoteOf } from '../../../src/x402/formats/example.ts';
import { exactJson } from '../../../src/x402/formats/json.ts';
import { TERMS } from '../rules/buyer.ts';

describe('an answer of the interface', () => {
  it('has the fields of its tables', () => {
    expect(quoteOf(TERMS, 'Pay', 'token')).toEqual({
      recipientWallet: TERMS.payTo,
      tokenAccount: TERMS.tokenAccount,
      mint: TERMS.asset,
      amount: 2500,
      amountStable: 0.0025,
      amountUSDC: 0.0025,
      cluster: 'devnet',
      message: 'Pay',
      quoteToken: 'token',
    });
    const { tokenAccount } = TERMS;
    const paid = { signature: 'sig', amount: 2500n, tokenAccount, explorerUrl: 'url', accessPass: null };
    expect(paidResponse('data', paid)).toEqual({
      data: 'data',
      paymentDetails: {
        signature: 'sig',
        amount: 2500,
        amountStable: 0.0025,
        amountUSDC: 0.0025,
        recipient: TERMS.tokenAccount,
        explorerUrl: 'url',
      },
    });
    const accessPass = { token: 'a token', expiresAt: new Date(0) };
    expect(paidResponse('data', { ...paid, accessPass }).paymentDetails).toMatchObject({
      explorerUrl: 'url',
      accessPass: { token: 'a token', expiresAt: '1970-01-01T00:00:00.000Z' },
    });
  });

  it('has a JSON integer as amount, with every digit', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, U64_MAX), (amount) => {
        const text = exactJson(quoteOf({ ...TERMS, amount }, 'Pay', 'token'));
        expect(text).toMatch(new RegExp(`"amount":${amount},`));
        expect(parse(text)).toHaveProperty('amount', new LosslessNumber(amount.toString()));
      }),
    );
  });

  it('is the text of JSON.stringify where no amount is above 2^53', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.maxSafeNat(), (data, amount) => {
        const quote = {
          ...quoteOf({ ...TERMS, amount: BigInt(amount) }, 'Pay', 'token'),
          data,
          none: undefined,
        };
        expect(exactJson(quote)).toBe(JSON.stringify(quote));
      }),
    );
  });

  it('can be written by JSON.stringify, which rounds an amount above 2^53', () => {
    const quote = quoteOf({ ...TERMS, amount: 2n ** 53n + 1n }, 'Pay', 'token');
    expect(JSON.parse(JSON.stringify(quote))).toMatchObject({ amount: 2 ** 53 });
  });
});

describe('the networks of the interface', () => {
  it('have the names of the interface and of its real-world example', () => {
    expect(EXAMPLE_NETWORKS.devnet).toEqual(['chain-devnet', 'solana-devnet']);
    expect(EXAMPLE_NETWORKS.mainnet).toEqual(['chain-mainnet', 'solana-mainnet', 'solana']);
  });
});
