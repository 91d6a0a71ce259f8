import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { U64_MAX } from '../../../src/domain/amount.ts';
import { at, exactJson, readHeaderJson } from '../../../src/x402/formats/json.ts';
import { paymentRequired, requirementsV2 } from '../../../src/x402/formats/payment-required.ts';
import type { Resource, Terms } from '../../../src/x402/terms.ts';
import { TERMS } from '../rules/buyer.ts';

const RESOURCE = { url: 'http://shop/weather', description: 'The weather', mimeType: 'application/json' };
const HINT = { blockhash: 'a hash', lastValidBlockHeight: 150n };

describe('the 402 answer of the gateway', () => {
  const more = { quoteToken: 'a token', hint: HINT, identifier: 'optional' } as const;
  const { headers, body } = paymentRequired(TERMS, RESOURCE, 'X-PAYMENT header is required', more);

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
    const other = paymentRequired(TERMS, RESOURCE, 'X-PAYMENT header is required', {
      ...more,
      quoteToken: 'b',
    });
    expect(other.headers).toEqual(headers);
    expect(other.body).toMatchObject({ accepts: (body as { accepts: unknown }).accepts });
  });

  describe('has a header of less than 8 KB', () => {
    const required = (terms: Terms, resource: Resource, error = 'error') =>
      paymentRequired(terms, resource, error, more).headers['payment-required'] ?? '';

    it('for texts of any length', () => {
      const text = fc.oneof(
        fc.string().map((one) => one.repeat(100)),
        fc.constantFrom('\0', '\ud800', '"', '€', '😀').map((one) => one.repeat(4_000)),
      );
      const memos = fc.constantFrom('\x01'.repeat(256), '€'.repeat(85), null);
      fc.assert(
        fc.property(text, text, text, memos, (description, error, query, memo) => {
          const resource = {
            ...RESOURCE,
            url: `${RESOURCE.url}?${query}`,
            description,
            mimeType: description,
          };
          const header = required({ ...TERMS, memo }, resource, error);
          expect(header.length).toBeLessThan(8_192);
          expect(readHeaderJson(header)).toMatchObject({ x402Version: 2, accepts: [{ amount: '2500' }] });
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
      expect(paymentRequired(TERMS, resource, 'error', more).body).toMatchObject({
        accepts: [resource].map(({ url, description }) => ({ resource: url, description })),
      });
    });
  });

  it('advertises the identifier where the route accepts it', () => {
    const extensions = (identifier: 'off' | 'optional' | 'required') =>
      at(
        readHeaderJson(
          paymentRequired(TERMS, RESOURCE, 'error', { ...more, identifier }).headers['payment-required'] ??
            '',
        ),
        'extensions',
      );
    expect(extensions('off')).toBeUndefined();
    expect(extensions('required')).toMatchObject({ 'payment-identifier': { info: { required: true } } });
  });

  it('describes input and output only where the header stays below 8 KB', () => {
    const bazaar = { info: { text: 'x'.repeat(3_000) } };
    const headerFor = (resource: typeof RESOURCE) =>
      paymentRequired(TERMS, resource, 'error', { ...more, bazaar }).headers['payment-required'] ?? '';
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
    const answer = paymentRequired(TERMS, RESOURCE, 'error', { ...more, hint: null });
    expect(readHeaderJson(answer.headers['payment-required'] ?? '')).toMatchObject({
      accepts: [requirementsV2(TERMS)],
    });
    expect(requirementsV2(TERMS)['extra']).toEqual({ feePayer: TERMS.feePayer });
  });

  it('requires a memo in versions 1 and 2', () => {
    const terms = { ...TERMS, memo: 'invoice 7' };
    const answer = paymentRequired(terms, RESOURCE, 'error', more);
    const asked = { accepts: [{ extra: { feePayer: TERMS.feePayer, memo: 'invoice 7' } }] };
    expect(readHeaderJson(answer.headers['payment-required'] ?? '')).toMatchObject(asked);
    expect(answer.body).toMatchObject(asked);
  });

  it('writes every digit of an amount above 2^53', () => {
    const answer = paymentRequired({ ...TERMS, amount: U64_MAX }, RESOURCE, 'error', more);
    expect(exactJson(answer.body)).toContain('"amount":18446744073709551615,');
    expect(exactJson(answer.body)).toContain('"maxAmountRequired":"18446744073709551615"');
  });
});
