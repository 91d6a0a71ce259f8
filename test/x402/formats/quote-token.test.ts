import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isPriceQuote,
  issueQuoteToken,
  memoOf,
  quoteKeyOf,
  readQuoteToken,
  signPriceQuote,
} from '../../../src/x402/formats/quote-token.ts';
import { TERMS } from '../rules/buyer.ts';

const NOW = 1_000_000;
const CLAIMS = {
  route: 'GET /weather',
  request: 'ab',
  amount: '2500',
  asset: TERMS.asset,
  payTo: TERMS.payTo,
  expiresAt: NOW + 1,
};

function tagBytes(token: string): Buffer {
  return Buffer.from(token.split('.')[1] ?? '', 'base64url');
}

describe('a quote token', () => {
  const SECRET = 'a secret of at least 32 characters';

  it('returns its claims to its own secrets, until it expires', () => {
    const token = issueQuoteToken(SECRET, CLAIMS);
    expect(readQuoteToken([SECRET], token, NOW)).toEqual(CLAIMS);
    expect(readQuoteToken(['the next secret', SECRET], token, NOW)).toEqual(CLAIMS);
    expect(readQuoteToken(['another secret'], token, NOW)).toBeNull();
    expect(readQuoteToken([SECRET], token, NOW + 2)).toBeNull();
  });

  it('is valid at one public URL only, also where another gateway has the same secret', () => {
    const [shop, staging] = ['https://shop.example', 'https://staging.example'].map((url) =>
      quoteKeyOf(SECRET, url),
    );
    if (shop === undefined || staging === undefined) throw new Error('the test made both');
    const token = issueQuoteToken(staging, CLAIMS);
    expect(readQuoteToken([staging], token, NOW)).toEqual(CLAIMS);
    expect(readQuoteToken([shop, SECRET], token, NOW)).toBeNull();
  });

  it('differs each time, and so does its memo', () => {
    const [one, two] = [issueQuoteToken(SECRET, CLAIMS), issueQuoteToken(SECRET, CLAIMS)];
    expect(one).not.toBe(two);
    expect(memoOf('a token')).toBe(`x402:${createHash('sha256').update('a token').digest('base64url')}`);
    expect(memoOf(one)).toMatch(/^x402:[A-Za-z0-9_-]{43}$/);
    expect(memoOf(one)).not.toBe(memoOf(two));
  });

  it('is invalid once any character of it is changed', () => {
    const token = issueQuoteToken(SECRET, CLAIMS);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '0', '.'), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        fc.pre(changed !== token);
        expect(readQuoteToken([SECRET], changed, NOW)).toBeNull();
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => readQuoteToken([SECRET], text, NOW) === null));
  });

  it('has only one spelling, though the base64url of its tag has unused bits', () => {
    const token = issueQuoteToken(SECRET, CLAIMS);
    const same = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      .split('')
      .map((last) => token.slice(0, -1) + last)
      .filter((text) => Buffer.from(text.split('.')[1] ?? '', 'base64url').equals(tagBytes(token)));
    expect(same).toHaveLength(4);
    expect(same.filter((text) => readQuoteToken([SECRET], text, NOW) !== null)).toEqual([token]);
  });

  it('returns no claims where its secret signed another kind of claims', () => {
    for (const body of ['{}', 'no JSON', JSON.stringify({ ...CLAIMS, nonce: 'n', more: 1 })]) {
      const sealed = Buffer.from(body).toString('base64url');
      const tag = createHmac('sha256', SECRET).update(sealed).digest('base64url');
      expect(readQuoteToken([SECRET], `${sealed}.${tag}`, NOW)).toBeNull();
    }
  });

  it('can contain any claims', () => {
    const text = fc.string({ maxLength: 200 });
    const claims = fc.record({ route: text, request: text, amount: text, asset: text, payTo: text });
    fc.assert(
      fc.property(claims, (quoted) => {
        const whole = { ...quoted, expiresAt: NOW };
        expect(readQuoteToken([SECRET], issueQuoteToken(SECRET, whole), NOW)).toEqual(whole);
      }),
    );
  });
});

describe('the quote of a price', () => {
  const QUOTED = { route: 'GET /weather', request: 'ab', terms: TERMS };

  it('is valid under any secret of the gateway until it expires, for exactly its price', () => {
    const quote = signPriceQuote('a secret', QUOTED, NOW);
    expect(isPriceQuote(['the next secret', 'a secret'], quote, QUOTED, NOW)).toBe(true);
    expect(isPriceQuote(['a secret'], quote, QUOTED, NOW + 1)).toBe(false);
    expect(isPriceQuote(['the next secret'], quote, QUOTED, NOW)).toBe(false);
    for (const other of [
      { ...QUOTED, route: 'POST /weather' },
      { ...QUOTED, request: 'abc' },
      { ...QUOTED, terms: { ...TERMS, amount: TERMS.amount - 1n } },
      { ...QUOTED, terms: { ...TERMS, asset: TERMS.payTo } },
      { ...QUOTED, terms: { ...TERMS, payTo: TERMS.asset } },
    ])
      expect(isPriceQuote(['a secret'], quote, other, NOW)).toBe(false);
  });

  it('has an expiry that cannot be changed', () => {
    const [, tag] = signPriceQuote('a secret', QUOTED, NOW).split('.');
    const later = `${(NOW + 1_000).toString(36)}.${tag}`;
    expect(isPriceQuote(['a secret'], later, QUOTED, NOW)).toBe(false);
  });
});
