import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHeaderJson, writeHeaderJson } from '../../../src/x402/formats/json.ts';
import { requirementsV2 } from '../../../src/x402/formats/payment-required.ts';
import { paymentResponse } from '../../../src/x402/formats/payment-response.ts';
import {
  acceptsTerms,
  echoesExtensions,
  isPaymentIdentifier,
  readPayment,
} from '../../../src/x402/formats/read-payment.ts';
import { TERMS } from '../rules/buyer.ts';

const HINT = { blockhash: 'a hash', lastValidBlockHeight: 150n };
const wire = Buffer.from('a transaction').toString('base64');

function header(value: object): string {
  return writeHeaderJson(value);
}

function identified(id: unknown): Record<string, unknown> {
  return { 'payment-identifier': { info: { required: true, id } } };
}

describe('the payment in a request', () => {
  const v2 = { x402Version: 2, accepted: requirementsV2(TERMS), payload: { transaction: wire } };
  const v1 = { x402Version: 1, scheme: 'exact', network: 'solana-devnet', payload: { transaction: wire } };
  const signature = '1'.repeat(64);

  it.each([
    ['v2', { 'payment-signature': header(v2) }],
    ['v2', { 'payment-signature': header(v2), 'x-payment': header(v1) }],
    ['v1', { 'x-payment': header(v1) }],
    ['example', { 'x-payment': header({ ...v1, payload: { serializedTransaction: wire } }) }],
    ['submitted', { 'x-payment': header({ ...v1, payload: { signature, quoteToken: 'a token' } }) }],
  ])('is read in dialect %s', (dialect, headers) => {
    expect(readPayment(headers)).toMatchObject({ kind: 'proof', proof: { dialect } });
  });

  it('is absent where no header contains it', () => {
    expect(readPayment({ cookie: 'a=b' })).toEqual({ kind: 'none' });
  });

  it.each([
    ['another version', { ...v1, x402Version: 3 }, 'x402Version must be 1'],
    ['another scheme', { ...v1, scheme: 'upto' }, 'scheme must be exact'],
    ['no network', { ...v1, network: 7 }, 'network must be a string'],
    [
      'two forms',
      { ...v1, payload: { transaction: wire, serializedTransaction: wire } },
      'must have exactly one of',
    ],
    ['no form of payment', { ...v1, payload: {} }, 'must have exactly one of'],
    ['base64url', { ...v1, payload: { transaction: '-_-_' } }, 'must be base64'],
    [
      'a short signature',
      { ...v1, payload: { signature: 'abc', quoteToken: 'x' } },
      'must be base58 of 64 bytes',
    ],
    ['a long signature', { ...v1, payload: { signature: '1'.repeat(89), quoteToken: 'x' } }, 'base58'],
    [
      'a signature not in base58',
      { ...v1, payload: { signature: '0'.repeat(64), quoteToken: 'x' } },
      'base58',
    ],
    [
      '47 bytes as signature',
      { ...v1, payload: { signature: 'z'.repeat(64), quoteToken: 'x' } },
      'of 64 bytes',
    ],
    ['no token', { ...v1, payload: { signature } }, 'quoteToken must be the quoteToken'],
  ])('with %s is undecodable', (_what, payment, reason) => {
    expect(readPayment({ 'x-payment': header(payment) })).toMatchObject({
      kind: 'undecodable',
      header: 'X-PAYMENT',
      reason: expect.stringContaining(reason),
    });
  });

  it.each([
    ['another version', { ...v2, x402Version: 1 }, 'x402Version must be 2'],
    ['no accepted requirements', { ...v2, accepted: [] }, 'accepted must be'],
    ['base64url', { ...v2, payload: { transaction: '-_-_' } }, 'must be base64'],
    ['a list of extensions', { ...v2, extensions: [] }, 'extensions must be an object'],
    ['a number as identifier', { ...v2, extensions: identified(7) }, 'info.id must be a string'],
  ])('of version 2 with %s is undecodable', (_what, payment, reason) => {
    expect(readPayment({ 'payment-signature': header(payment) })).toMatchObject({
      kind: 'undecodable',
      header: 'PAYMENT-SIGNATURE',
      reason: expect.stringContaining(reason),
    });
  });

  it('is not taken from X-PAYMENT where PAYMENT-SIGNATURE cannot be read', () => {
    const headers = { 'payment-signature': '?', 'x-payment': header(v1) };
    expect(readPayment(headers)).toMatchObject({ kind: 'undecodable', header: 'PAYMENT-SIGNATURE' });
  });

  it.each([
    ['payment-signature', 'PAYMENT-SIGNATURE', header(v2)],
    ['x-payment', 'X-PAYMENT', header(v1)],
  ])('is undecodable where %s occurs twice', (name, title, text) => {
    for (const twice of [[text, text], `${text}, ${text}`])
      expect(readPayment({ [name]: twice })).toMatchObject({ kind: 'undecodable', header: title });
  });

  it('is never read from a prototype', () => {
    expect(readPayment(Object.create({ 'x-payment': header(v1) }))).toEqual({ kind: 'none' });
    const payload = JSON.parse(`{"__proto__":{"transaction":"${wire}"}}`);
    expect(readPayment({ 'x-payment': header({ ...v1, payload }) })).toMatchObject({ kind: 'undecodable' });
  });

  it('is read without an exception, whatever it contains', () => {
    const any = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(1, 2, 'exact', wire, signature, [], null),
    );
    const fields = fc.record(
      {
        x402Version: fc.constantFrom(1, 2),
        scheme: fc.constant('exact'),
        network: any,
        accepted: any,
        extensions: any,
      },
      { requiredKeys: ['x402Version', 'scheme'] },
    );
    const names = fc.constantFrom(
      'transaction',
      'serializedTransaction',
      'signature',
      'quoteToken',
      '__proto__',
    );
    fc.assert(
      fc.property(fields, fc.dictionary(names, any), (payment, payload) => {
        const text = header({ ...payment, payload });
        for (const name of ['x-payment', 'payment-signature'])
          expect(readPayment({ [name]: text }).kind).toMatch(/^(proof|undecodable)$/);
      }),
    );
  });

  it('has its identifier', () => {
    const extensions = identified('pay_0123456789abcd');
    expect(readPayment({ 'payment-signature': header({ ...v2, extensions }) })).toMatchObject({
      proof: { paymentIdentifier: 'pay_0123456789abcd', extensions },
    });
    for (const none of [{ ...v2 }, { ...v2, extensions: null }, { ...v2, extensions: identified(null) }])
      expect(readPayment({ 'payment-signature': header(none) })).toMatchObject({
        proof: { paymentIdentifier: null },
      });
    expect(
      ['pay_0123456789abcd', 'short', 'with space in the text', 'x'.repeat(129)].map(isPaymentIdentifier),
    ).toEqual([true, false, false, false]);
  });
});

describe('the terms that a buyer accepts', () => {
  const accepted = requirementsV2(TERMS);

  it('equal the offered terms, whatever blockhash the offer had', () => {
    expect(acceptsTerms(accepted, TERMS)).toBe(true);
    expect(acceptsTerms(requirementsV2(TERMS, HINT), TERMS)).toBe(true);
  });

  it('may have more fields in extra', () => {
    expect(acceptsTerms({ ...accepted, extra: { feePayer: TERMS.feePayer, more: 1 } }, TERMS)).toBe(true);
  });

  it.each([
    { amount: '2499' },
    { asset: TERMS.payTo },
    { payTo: TERMS.feePayer },
    { network: 'solana:other' },
    { scheme: 'upto' },
    { maxTimeoutSeconds: 61 },
    { more: 1 },
    { extra: {} },
    { extra: { feePayer: TERMS.payTo } },
    { extra: null },
  ])('are refused with %j', (change) => {
    expect(acceptsTerms({ ...accepted, ...change }, TERMS)).toBe(false);
  });

  it('contain the requested memo', () => {
    const terms = { ...TERMS, memo: 'invoice 7' };
    expect(acceptsTerms(accepted, terms)).toBe(false);
    expect(acceptsTerms(requirementsV2(terms), terms)).toBe(true);
  });
});

describe('the extensions that a buyer returns', () => {
  it.each([
    ['none', {}],
    ['the advertised info', { 'payment-identifier': { info: { required: true } } }],
    ['more in the info', identified('pay_0123456789abcd')],
    ['an extension that was not advertised', { bazaar: { info: 7 } }],
  ])('are an echo with %s', (_what, extensions) => {
    expect(echoesExtensions(extensions, 'required')).toBe(true);
  });

  it.each([
    ['another value', { 'payment-identifier': { info: { required: false } } }],
    ['a missing key', { 'payment-identifier': { info: { id: 'pay_0123456789abcd' } } }],
    ['no info', { 'payment-identifier': {} }],
    ['a value that is not an object', { 'payment-identifier': null }],
    ['the info in a prototype', { 'payment-identifier': { info: Object.create({ required: true }) } }],
  ])('are not an echo with %s', (_what, extensions) => {
    expect(echoesExtensions(extensions, 'required')).toBe(false);
    expect(echoesExtensions(extensions, 'off')).toBe(true);
  });

  it('keep whether the identifier is required', () => {
    expect(echoesExtensions(identified('pay_0123456789abcd'), 'optional')).toBe(false);
  });
});

describe('payment responses', () => {
  it('name the network in the form of their version', () => {
    const result = { success: true, transaction: 'sig', payer: 'me', amount: '2500' };
    expect(readHeaderJson(paymentResponse('v2', result, TERMS.network)['payment-response'] ?? '')).toEqual({
      ...result,
      network: TERMS.network.caip2,
    });
    expect(readHeaderJson(paymentResponse('v1', result, TERMS.network)['x-payment-response'] ?? '')).toEqual({
      ...result,
      network: 'solana-devnet',
    });
  });
});
