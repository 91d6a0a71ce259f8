import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { U64_MAX } from '../../../src/domain/amount.ts';
import { at, exactJson, readHeaderJson } from '../../../src/x402/formats/json.ts';
import {
  paymentRequired,
  type QuotedTerms,
  requirementsV2,
} from '../../../src/x402/formats/payment-required.ts';
import { signInChallenge } from '../../../src/x402/passes/sign-in.ts';
import type { Resource, Terms } from '../../../src/x402/terms.ts';
import { TERMS } from '../rules/buyer.ts';

const RESOURCE = { url: 'http://shop/weather', description: 'The weather', mimeType: 'application/json' };
const LONG_HINT = { blockhash: TERMS.payTo, lastValidBlockHeight: 1_000_000_000_000n };
const QUOTE = `${'z'.repeat(8)}.${'a'.repeat(43)}`;
const HINT = { blockhash: 'a hash', lastValidBlockHeight: 150n };

describe('the 402 answer of the gateway', () => {
  const more = { hint: HINT, identifier: 'optional' } as const;
  const quoted = (terms: Terms = TERMS, quoteToken = 'a token'): [QuotedTerms] => [
    { terms, quoteToken, priceQuote: null },
  ];
  const { headers, body } = paymentRequired(quoted(), RESOURCE, 'X-PAYMENT header is required', more);

  it('has the terms of three dialects', () => {
    const required = readHeaderJson(headers['payment-required'] ?? '');
    expect(required).toMatchObject({
      x402Version: 2,
      resource: RESOURCE,
      accepts: [{ amount: '2500', extra: { recentBlockhash: 'a hash', lastValidBlockHeight: '150' } }],
      extensions: { 'payment-identifier': { info: { required: false } } },
    });
    expect(body).toMatchObject({
      x402Version: 1,
      error: 'X-PAYMENT header is required',
      accepts: [{ network: 'solana-devnet', maxAmountRequired: '2500', resource: RESOURCE.url }],
      payment: {
        amount: 2500,
        amountStable: 0.0025,
        amountUSDC: 0.0025,
        cluster: 'devnet',
        quoteToken: 'a token',
      },
    });
  });

  it('has the same terms each time, except for hint and token', () => {
    const other = paymentRequired(quoted(TERMS, 'b'), RESOURCE, 'X-PAYMENT header is required', more);
    expect(other.headers).toEqual(headers);
    expect(other.body).toMatchObject({ accepts: (body as { accepts: unknown }).accepts });
  });

  describe('has a header of less than 8 KB', () => {
    const required = (terms: Terms, resource: Resource) =>
      paymentRequired(quoted(terms), resource, 'error', more).headers['payment-required'] ?? '';

    it('for texts of any length', () => {
      const network = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
      const publicUrl = `https://${'a'.repeat(60)}.${'b'.repeat(60)}.example`;
      const place = { publicUrl, route: 'GET /*', path: `/${'a'.repeat(120)}`, network };
      const text = fc.oneof(
        fc.string().map((one) => one.repeat(100)),
        fc.constantFrom('\0', '\ud800', '"', '€', '😀').map((one) => one.repeat(4_000)),
      );
      // The longest memos that a routes file can have with this number of prices.
      const offers = fc.constantFrom(
        [1, '\x01'.repeat(256)],
        [1, null],
        [2, '€'.repeat(85)],
        [4, 'a'.repeat(256)],
      ) as fc.Arbitrary<[number, string | null]>;
      fc.assert(
        fc.property(text, text, text, offers, (description, error, query, [prices, memo]) => {
          const resource = {
            ...RESOURCE,
            url: `${RESOURCE.url}?${query}`,
            description,
            mimeType: description,
          };
          const entry = { terms: { ...TERMS, amount: U64_MAX, memo }, quoteToken: '', priceQuote: QUOTE };
          const entries: [QuotedTerms, ...QuotedTerms[]] = [
            entry,
            ...Array.from({ length: prices - 1 }, () => entry),
          ];
          const signIn = { 'sign-in-with-x': signInChallenge('a secret', place, 0) };
          for (const extensions of [{}, { signIn }]) {
            const details = { ...more, hint: LONG_HINT, ...extensions };
            const { headers: sent } = paymentRequired(entries, resource, error, details);
            const header = sent['payment-required'] ?? '';
            expect(header.length).toBeLessThan(8_192);
            expect(readHeaderJson(header)).toMatchObject({
              x402Version: 2,
              accepts: entries.map(() => ({ amount: U64_MAX.toString(), extra: { quote: QUOTE } })),
            });
          }
        }),
      );
    });

    it.each([
      ['whole', 'http://shop/weather?day=1', 'http://shop/weather?day=1'],
      ['without a long query', `http://shop/weather?${'a'.repeat(2_000)}`, 'http://shop/weather'],
      ['without a long path', `http://shop/${'a'.repeat(2_000)}?b`, 'http://shop/'],
    ])('with the URL %s', (_what, url, shown) => {
      expect(readHeaderJson(required(TERMS, { ...RESOURCE, url }))).toMatchObject({
        resource: { url: shown },
      });
    });

    it('with a truncated description, and version 1 has the complete text', () => {
      const resource = { ...RESOURCE, description: '😀'.repeat(500) };
      expect(readHeaderJson(required(TERMS, resource))).toMatchObject({
        resource: { description: expect.stringMatching(/^(😀){200,255}…$/u) },
      });
      expect(paymentRequired(quoted(), resource, 'error', more).body).toMatchObject({
        accepts: [resource].map(({ url, description }) => ({ resource: url, description })),
      });
    });
  });

  it('advertises the identifier where the route accepts it', () => {
    const extensions = (identifier: 'off' | 'optional' | 'required') =>
      at(
        readHeaderJson(
          paymentRequired(quoted(), RESOURCE, 'error', { ...more, identifier }).headers['payment-required'] ??
            '',
        ),
        'extensions',
      );
    expect(extensions('off')).toBeUndefined();
    expect(extensions('required')).toMatchObject({ 'payment-identifier': { info: { required: true } } });
  });

  it('has one entry for each asset in every dialect, in order, with a quote token for each', () => {
    const other = { ...TERMS, asset: TERMS.payTo, amount: 7n };
    const entries: [QuotedTerms, QuotedTerms] = [...quoted(), ...quoted(other, 'b')];
    const answer = paymentRequired(entries, RESOURCE, 'error', more);
    expect(readHeaderJson(answer.headers['payment-required'] ?? '')).toMatchObject({
      accepts: [
        { asset: TERMS.asset, amount: '2500' },
        { asset: other.asset, amount: '7' },
      ],
    });
    expect(answer.body).toMatchObject({
      accepts: [
        { asset: TERMS.asset, maxAmountRequired: '2500' },
        { asset: other.asset, maxAmountRequired: '7' },
      ],
      payment: { mint: TERMS.asset, quoteToken: 'a token' },
      payments: [
        { mint: TERMS.asset, amount: 2500, quoteToken: 'a token' },
        { mint: other.asset, amount: 7, quoteToken: 'b' },
      ],
    });
    expect(body).not.toHaveProperty('payments');
  });

  it('describes input and output only where the header stays below 8 KB', () => {
    const bazaar = { info: { text: 'x'.repeat(3_000) } };
    const headerFor = (resource: typeof RESOURCE) =>
      paymentRequired(quoted(), resource, 'error', { ...more, bazaar }).headers['payment-required'] ?? '';
    expect(readHeaderJson(headerFor(RESOURCE))).toMatchObject({
      extensions: { bazaar, 'payment-identifier': {} },
    });
    const long = headerFor({
      ...RESOURCE,
      description: 'y'.repeat(2_000),
      url: `http://shop/${'z'.repeat(1_400)}`,
    });
    expect(long.length).toBeLessThan(8_192);
    expect(Object.keys(readHeaderJson(long)?.['extensions'] ?? {})).toEqual(['payment-identifier']);
  });

  it('has no hint where no node returns one', () => {
    const answer = paymentRequired(quoted(), RESOURCE, 'error', { ...more, hint: null });
    expect(readHeaderJson(answer.headers['payment-required'] ?? '')).toMatchObject({
      accepts: [requirementsV2(TERMS)],
    });
    expect(requirementsV2(TERMS)['extra']).toEqual({ feePayer: TERMS.feePayer });
  });

  it('requires a memo in versions 1 and 2', () => {
    const terms = { ...TERMS, memo: 'invoice 7' };
    const answer = paymentRequired(quoted(terms), RESOURCE, 'error', more);
    const asked = { accepts: [{ extra: { feePayer: TERMS.feePayer, memo: 'invoice 7' } }] };
    expect(readHeaderJson(answer.headers['payment-required'] ?? '')).toMatchObject(asked);
    expect(answer.body).toMatchObject(asked);
  });

  it('writes every digit of an amount above 2^53', () => {
    const answer = paymentRequired(quoted({ ...TERMS, amount: U64_MAX }), RESOURCE, 'error', more);
    expect(exactJson(answer.body)).toContain('"amount":18446744073709551615,');
    expect(exactJson(answer.body)).toContain('"maxAmountRequired":"18446744073709551615"');
  });
});
