import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { at, readBase64, readHeaderJson, writeHeaderJson } from '../../../src/x402/formats/json.ts';
import { readPayment } from '../../../src/x402/formats/read-payment.ts';

describe('JSON in a header', () => {
  it.each([
    ['base64url', Buffer.from('{"a":"??>"}').toString('base64url')],
    ['without padding', writeHeaderJson({ a: 1 }).replace(/=+$/, '')],
    ['with a space', ` ${writeHeaderJson({ a: 1 })}`],
    ['an array', Buffer.from('[1]').toString('base64')],
    ['a number', Buffer.from('1').toString('base64')],
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d]).toString('base64')],
    ['invalid UTF-8 in a string', Buffer.from('{"a":"\xff"}', 'latin1').toString('base64')],
    ['text with a byte order mark', Buffer.from('\ufeff{"a":1}').toString('base64')],
    ['a key with two values', Buffer.from('{"a":{"b":1,"b":2}}').toString('base64')],
    [
      'deep nesting under an overwritten key',
      Buffer.from(`{"a":${'['.repeat(9_000)}${']'.repeat(9_000)},"a":1}`).toString('base64'),
    ],
    ['null', Buffer.from('null').toString('base64')],
    ['two values', Buffer.from('{}{}').toString('base64')],
    ['too many bytes', writeHeaderJson({ a: 'x'.repeat(70_000) })],
    ['too many levels', Buffer.from(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`).toString('base64')],
  ])('is refused as %s', (_what, text) => {
    expect(readHeaderJson(text)).toBeNull();
  });

  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean())), (value) => {
        expect(readHeaderJson(writeHeaderJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each(['AB==', 'AAB=', 'AA==\n', 'AA= =', 'AA', 'A', '====', ''])(
    'has no decoded bytes for the base64 %j',
    (text) => {
      expect(readBase64(text)).toBeNull();
    },
  );

  it('has the written bytes, in only one spelling', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        expect(Buffer.from(readBase64(text) ?? [])).toEqual(Buffer.from(bytes));
        if (text.endsWith('=')) expect(readBase64(text.replace(/=+$/, ''))).toBeNull();
      }),
    );
  });

  it('may contain harmless prototype keys', () => {
    const text = '{"__proto__":{"scheme":"exact"},"constructor":{"prototype":{"scheme":"exact"}}}';
    const value = readHeaderJson(Buffer.from(text).toString('base64'));
    expect(at(value, 'scheme')).toBeUndefined();
    expect(at(value, 'toString')).toBeUndefined();
    expect(({} as Record<string, unknown>)['scheme']).toBeUndefined();
  });

  it('is parsed without an exception for any text', () => {
    const latin1 = fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('latin1'));
    fc.assert(
      fc.property(fc.oneof(fc.string(), latin1), (text) => {
        expect(readPayment({ 'x-payment': text }).kind).toBe('undecodable');
        expect(readPayment({ 'payment-signature': text }).kind).toBe('undecodable');
      }),
    );
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = Buffer.from(json).toString('base64');
        readPayment({ 'x-payment': text });
        readPayment({ 'payment-signature': text });
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        expect(readPayment({ 'x-payment': text }).kind).toBe('undecodable');
      }),
    );
  });
});
