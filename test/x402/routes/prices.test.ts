import { describe, expect, it } from 'vitest';
import { faultsOf, MINT, readOne, UPSTREAM, USDC, WALLET } from './file.ts';

describe('several prices', () => {
  const two = [
    { decimal: '0.5', asset: 'USDC' },
    { amount: '7', asset: MINT, payTo: MINT },
  ] as const;
  const entry = (keys: object) => ({ path: '/a', upstream: UPSTREAM, ...keys });

  it('are read in the order of the file, each with its own limits and wallet', () => {
    const prices = [{ ...two[0], finalizedAbove: '0.1' }, two[1]];
    expect(readOne(entry({ prices }))).toMatchObject({
      prices: [
        { asset: USDC, amount: 500_000n, decimals: 6, payTo: WALLET, finalizedAbove: 100_000n },
        { asset: MINT, amount: 7n, decimals: null, payTo: MINT, finalizedAbove: null },
      ],
      upstreamPrice: null,
    });
    expect(faultsOf([entry({ prices: [two[1]] })], {})).toEqual([]);
  });

  it('may be the limits of the prices that the upstream sets', () => {
    expect(readOne(entry({ price: { from: 'upstream', max: '0.5' } }))).toMatchObject({
      prices: [{ asset: USDC, amount: 500_000n }],
      upstreamPrice: { url: null, validSeconds: 300 },
    });
    const price = { from: 'upstream', max: two, url: 'http://127.0.0.1/price?a=1', validSeconds: 60 };
    expect(readOne(entry({ price }))).toMatchObject({
      prices: [{ asset: USDC }, { asset: MINT }],
      upstreamPrice: { url: 'http://127.0.0.1/price?a=1', validSeconds: 60 },
    });
  });

  const MAX_MEMO = 'must have at most 512 bytes as JSON with 2 prices';
  it.each([
    [{ prices: two, price: '1' }, ['routes[0].prices: must not be set together with price']],
    [{ prices: [] }, ['routes[0].prices: must not be empty']],
    [{ prices: two, decimals: 6 }, ['routes[0].decimals: must be set in the entries of prices']],
    [
      { prices: [{ decimal: '1', asset: MINT }] },
      [expect.stringContaining('routes[0].prices[0]: a decimal price')],
    ],
    [{ prices: [two[0], { amount: '5' }] }, [`routes[0].prices: has two prices in the asset ${USDC}`]],
    [{ prices: [{ amount: '0' }] }, [expect.stringContaining('routes[0].prices[0]: must be above 0')]],
    [{ prices: two, memo: '\x01'.repeat(86) }, [expect.stringContaining(MAX_MEMO)]],
    [
      { price: { from: 'upstream', max: '0' } },
      [expect.stringContaining('routes[0].price.max: must be above 0')],
    ],
    [{ price: { from: 'upstream' } }, [expect.stringContaining('routes[0].price: must be a decimal')]],
    [
      { price: { from: 'upstream', max: '1', url: 'ftp://a' } },
      ['routes[0].price.url: must be an http or https URL'],
    ],
    [
      { price: { from: 'upstream', max: '1' }, upstream: undefined, answer: { body: '' } },
      ['routes[0].price.from: must not be set, because the answer is static'],
    ],
    [
      { price: { from: 'upstream', max: '1' }, accessPass: { seconds: 60 } },
      ['routes[0].accessPass: must not be set with price.from: a pass buys every request of its path'],
    ],
  ])('are refused in %j', (keys, faults) => {
    expect(faultsOf([entry(keys)])).toEqual(faults);
  });
});
