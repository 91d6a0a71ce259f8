import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readReturnedPrices, termsAtPrices } from '../../../src/x402/formats/upstream-price.ts';
import type { UpstreamAnswer } from '../../../src/x402/upstream.ts';
import { MINT, TERMS } from '../rules/buyer.ts';

const { network } = TERMS;

function head(price: string | readonly string[] | null, status = 200): UpstreamAnswer {
  const headers: Record<string, string | readonly string[]> = price === null ? {} : { 'x402-price': price };
  return { kind: 'whole', status, headers, body: '' } as UpstreamAnswer;
}

function json(text: string, status = 200): UpstreamAnswer {
  return { kind: 'whole', status, headers: {}, body: Buffer.from(text).toString('base64') };
}

describe('the prices of an upstream', () => {
  it.each([
    ['one asset', '0.25 USDC', [{ decimal: '0.25', asset: 'USDC' }]],
    [
      'several assets',
      `0.25 USDC,  3 ${MINT}`,
      [
        { decimal: '0.25', asset: 'USDC' },
        { decimal: '3', asset: MINT },
      ],
    ],
  ])('may be of %s, in the header or in the body', (_what, header, prices) => {
    expect(readReturnedPrices(head(header), false)).toEqual({ ok: true, value: prices });
    const body = { prices: prices.map(({ decimal: amount, asset }) => ({ amount, asset })) };
    expect(readReturnedPrices(json(JSON.stringify(body)), true)).toEqual({ ok: true, value: prices });
  });

  it.each([
    ['without the header', head(null)],
    ['with two headers', head(['1 USDC', '2 USDC'])],
    ['without an asset', head('0.25')],
    ['with base units in place of a decimal', head('250000n USDC')],
    ['with a negative price', head('-1 USDC')],
    ['with an exponent', head('1e3 USDC')],
    ['with a leading zero', head('01 USDC')],
    ['with one malformed entry', head('1 USDC, ')],
    ['with an asset twice', head('1 USDC, 2 USDC')],
    ['that is a redirect', head('1 USDC', 302)],
    ['that is an error', head('1 USDC', 500)],
    ['that is missing', { kind: 'none', reason: 'the upstream did not respond (ECONNREFUSED)' } as const],
  ])('are not read from a response %s', (_what, answer) => {
    expect(readReturnedPrices(answer, false)).toMatchObject({ ok: false });
  });

  it.each([
    '',
    '[]',
    '{}',
    '{"prices": []}',
    '{"prices": [{"amount": 1, "asset": "USDC"}]}',
    '{"prices": [{"amount": "1"}]}',
    '{"prices": [{"amount": "2", "amount": "1", "asset": "USDC"}]}',
    '{"prices": [{"amount": "1", "asset": "USDC"}, {"amount": "2", "asset": "USDC"}]}',
  ])('are not read from the body %s', (text) => {
    expect(readReturnedPrices(json(text), true)).toMatchObject({ ok: false });
  });
});

describe('the terms at the prices of an upstream', () => {
  const usdc = { ...TERMS, asset: network.usdc, amount: 5_000_000n };
  const other = { ...TERMS, asset: MINT, decimals: 2, amount: 300n };

  it('have the price of their own asset, which is above 0 and at most the limit', () => {
    const digits = fc.bigInt({ min: 0n, max: 10_000_000n });
    fc.assert(
      fc.property(digits, digits, (micro, cents) => {
        const prices = [
          { decimal: `${micro / 1_000_000n}.${String(micro % 1_000_000n).padStart(6, '0')}`, asset: 'USDC' },
          { decimal: `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`, asset: MINT },
        ];
        const expected = [
          { ...usdc, amount: micro },
          { ...other, amount: cents },
        ].filter(({ amount }, index) => amount > 0n && amount <= ([usdc, other][index]?.amount ?? 0n));
        const priced = termsAtPrices([usdc, other], prices, network);
        expect(priced.ok ? priced.value : []).toEqual(expected);
      }),
    );
  });

  it('do not exist for a price with more digits than the asset has, or in an unknown asset', () => {
    for (const price of [
      { decimal: '0.001', asset: MINT },
      { decimal: '1', asset: TERMS.payTo },
    ])
      expect(termsAtPrices([other], [price], network)).toMatchObject({ ok: false });
  });
});
