import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paidResponse, quoteOf } from '../../../src/x402/dialects/example.ts';
import { readHeaderJson, writeHeaderJson } from '../../../src/x402/dialects/header-json.ts';
import { paymentRequired } from '../../../src/x402/dialects/payment-required.ts';
import { issueQuoteToken, memoOf, readQuoteToken } from '../../../src/x402/dialects/quote-token.ts';
import { readPayment } from '../../../src/x402/dialects/read-payment.ts';
import { paymentResponseV1 } from '../../../src/x402/dialects/v1.ts';
import {
  acceptsTerms,
  isPaymentIdentifier,
  paymentResponseV2,
  requirementsV2,
} from '../../../src/x402/dialects/v2.ts';
import { TERMS } from '../rules/buyer.ts';

const RESOURCE = { url: 'http://shop/weather', description: 'The weather', mimeType: 'application/json' };
const HINT = { blockhash: 'a hash', lastValidBlockHeight: 150n };
const NOW = 1_000_000;
const CLAIMS = {
  route: 'GET /weather',
  request: 'ab',
  amount: '2500',
  asset: TERMS.asset,
  payTo: TERMS.payTo,
  expiresAt: NOW + 1,
};
const wire = Buffer.from('a transaction').toString('base64');

function header(value: object): string {
  return writeHeaderJson(value);
}

describe('JSON in a header', () => {
  it.each([
    ['base64url', Buffer.from('{"a":"??>"}').toString('base64url')],
    ['without padding', header({ a: 1 }).replace(/=+$/, '')],
    ['with a space', ` ${header({ a: 1 })}`],
    ['an array', Buffer.from('[1]').toString('base64')],
    ['a number', Buffer.from('1').toString('base64')],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]).toString('base64')],
    ['too long', header({ a: 'x'.repeat(70_000) })],
    ['too deep', Buffer.from(`{"a":${'['.repeat(40)}${']'.repeat(40)}}`).toString('base64')],
  ])('is not read as %s', (_what, text) => {
    expect(readHeaderJson(text)).toBeNull();
  });

  it('reads what it wrote', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean())), (value) => {
        expect(readHeaderJson(header(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('never throws for any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void readPayment({ 'x-payment': text })));
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = Buffer.from(json).toString('base64');
        readPayment({ 'x-payment': text });
        readPayment({ 'payment-signature': text });
      }),
    );
  });
});

describe('the payment of a request', () => {
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

  it('is none where no header says so', () => {
    expect(readPayment({ cookie: 'a=b' })).toEqual({ kind: 'none' });
  });

  it.each([
    ['another version', { ...v1, x402Version: 3 }, 'x402Version must be 1'],
    ['another scheme', { ...v1, scheme: 'upto' }, 'scheme must be exact'],
    ['no network', { ...v1, network: 7 }, 'network must be a text'],
    ['two forms', { ...v1, payload: { transaction: wire, serializedTransaction: wire } }, 'must have one of'],
    ['no form', { ...v1, payload: {} }, 'must have one of'],
    ['base64url', { ...v1, payload: { transaction: '-_-_' } }, 'must be base64'],
    [
      'a short signature',
      { ...v1, payload: { signature: 'abc', quoteToken: 'x' } },
      'must be base58 of 64 bytes',
    ],
    ['no token', { ...v1, payload: { signature } }, 'quoteToken must be the one'],
  ])('with %s is undecodable', (_what, payment, why) => {
    expect(readPayment({ 'x-payment': header(payment) })).toMatchObject({
      kind: 'undecodable',
      header: 'X-PAYMENT',
      why: expect.stringContaining(why),
    });
  });

  it('names the header that cannot be read', () => {
    expect(readPayment({ 'payment-signature': '?' })).toMatchObject({ header: 'PAYMENT-SIGNATURE' });
  });

  it('has its identifier', () => {
    const extensions = { 'payment-identifier': { info: { required: true, id: 'pay_0123456789abcd' } } };
    expect(readPayment({ 'payment-signature': header({ ...v2, extensions }) })).toMatchObject({
      proof: { paymentIdentifier: 'pay_0123456789abcd' },
    });
    expect(
      ['pay_0123456789abcd', 'short', 'with space in the text', 'x'.repeat(129)].map(isPaymentIdentifier),
    ).toEqual([true, false, false, false]);
  });
});

describe('terms that a buyer accepts', () => {
  const accepted = requirementsV2(TERMS);

  it('are the same as those offered, whatever blockhash was offered with them', () => {
    expect(acceptsTerms(accepted, TERMS)).toBe(true);
    expect(acceptsTerms(requirementsV2(TERMS, HINT), TERMS)).toBe(true);
  });

  it('may have more in extra', () => {
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
  ])('are not accepted with %j', (change) => {
    expect(acceptsTerms({ ...accepted, ...change }, TERMS)).toBe(false);
  });

  it('hold the memo that is asked for', () => {
    const terms = { ...TERMS, memo: 'invoice 7' };
    expect(acceptsTerms(accepted, terms)).toBe(false);
    expect(acceptsTerms(requirementsV2(terms), terms)).toBe(true);
  });
});

describe('the one 402', () => {
  const more = { quoteToken: 'a token', hint: HINT, identifier: 'optional' } as const;
  const { headers, body } = paymentRequired(TERMS, RESOURCE, 'X-PAYMENT header is required', more);

  it('speaks three dialects', () => {
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

  it('has the same terms each time, but for hint and token', () => {
    const other = paymentRequired(TERMS, RESOURCE, 'X-PAYMENT header is required', {
      ...more,
      quoteToken: 'b',
    });
    expect(other.headers).toEqual(headers);
    expect(other.body).toMatchObject({ accepts: (body as { accepts: unknown }).accepts });
  });

  it('stays far below what servers take in a header', () => {
    const long = { ...RESOURCE, description: 'x'.repeat(500) };
    const { headers: large } = paymentRequired(TERMS, long, 'error', more);
    expect(large['payment-required']?.length).toBeLessThan(4_096);
  });
});

describe('the answers of the interface', () => {
  it('have the fields of its tables', () => {
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
    const paid = { signature: 'sig', amount: 2500n, tokenAccount: TERMS.tokenAccount, explorerUrl: 'url' };
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
  });
});

describe('payment responses', () => {
  it('name the network as their version does', () => {
    const result = { success: true, transaction: 'sig', payer: 'me' };
    expect(readHeaderJson(paymentResponseV2(result, TERMS.network))).toMatchObject({
      network: TERMS.network.caip2,
    });
    expect(readHeaderJson(paymentResponseV1(result, TERMS.network))).toMatchObject({
      network: 'solana-devnet',
    });
  });
});

describe('a quote token', () => {
  const SECRET = 'a secret of at least 32 characters';

  it('says what it was made for, to its own secrets, until it expires', () => {
    const token = issueQuoteToken(SECRET, CLAIMS);
    expect(readQuoteToken([SECRET], token, NOW)).toEqual(CLAIMS);
    expect(readQuoteToken(['the next secret', SECRET], token, NOW)).toEqual(CLAIMS);
    expect(readQuoteToken(['another secret'], token, NOW)).toBeNull();
    expect(readQuoteToken([SECRET], token, NOW + 2)).toBeNull();
  });

  it('is another one each time, and so is its memo', () => {
    const [one, two] = [issueQuoteToken(SECRET, CLAIMS), issueQuoteToken(SECRET, CLAIMS)];
    expect(one).not.toBe(two);
    expect(memoOf(one)).toMatch(/^x402:[A-Za-z0-9_-]{43}$/);
    expect(memoOf(one)).not.toBe(memoOf(two));
  });

  it('is worth nothing once any character of it is changed', () => {
    const token = issueQuoteToken(SECRET, CLAIMS);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'b', '0', '.'), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        fc.pre(changed !== token);
        const read = readQuoteToken([SECRET], changed, NOW);
        // The last character of base64url may have spare bits, which say nothing.
        if (at < token.length - 1) expect(read).toBeNull();
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => readQuoteToken([SECRET], text, NOW) === null));
  });
});
