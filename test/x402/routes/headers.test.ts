import { describe, expect, it } from 'vitest';
import {
  paidResponseHeaders,
  paymentHeaders,
  upstreamRequestHeaders,
  upstreamResponseHeaders,
} from '../../../src/x402/routes/headers.ts';

const HOP_BY_HOP = [
  'Connection',
  'Keep-Alive',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'Proxy-Connection',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
  'HTTP2-Settings',
];

describe('the upstream gets', () => {
  it('the headers of the client, in lower case, with repeated ones joined', () => {
    const sent = {
      Accept: 'text/html',
      authorization: 'Bearer a',
      cookie: ['a=1', 'b=2'],
      'x-thing': ['1', '2'],
      'user-agent': undefined,
    };
    expect(upstreamRequestHeaders(sent, true)).toEqual({
      accept: 'text/html',
      authorization: 'Bearer a',
      cookie: 'a=1; b=2',
      'x-thing': '1, 2',
    });
  });

  it.each([
    ...HOP_BY_HOP,
    'X-PAYMENT',
    'PAYMENT-SIGNATURE',
    'SIGN-IN-WITH-X',
    'X-Sluice-Payment',
    'Sluice-Payment',
    'Sluice_Payment',
    'X-Sluice-Anything',
    'X_Sluice_Payment',
    'Idempotency-Key',
    'X-HTTP-Method-Override',
    'X_HTTP_METHOD_OVERRIDE',
    'X-HTTP-Method',
    'X-Method-Override',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Prefix',
    'X-Forwarded-Method',
    'Forwarded',
    'X-Real-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'X-Original-Forwarded-For',
    'Remote-User',
    'X-Remote-User',
    'X_Remote_User',
    'Content-Length',
    'Expect',
    'Host',
  ])('no %s, paid or free', (name) => {
    for (const isPaid of [true, false])
      expect(upstreamRequestHeaders({ [name]: 'a', accept: '*/*' }, isPaid)).toEqual({ accept: '*/*' });
  });

  it.each(['Range', 'If-Range', 'If-None-Match', 'If-Modified-Since', 'Accept-Encoding'])(
    'no %s on a priced route, whose answer is stored complete; a free route passes it',
    (name) => {
      expect(upstreamRequestHeaders({ [name]: 'a' }, true)).toEqual({});
      expect(upstreamRequestHeaders({ [name]: 'a' }, false)).toEqual({ [name.toLowerCase()]: 'a' });
    },
  );

  it('no header that Connection names', () => {
    const sent = { Connection: 'close, X-Secret ,\tX-Other', 'x-secret': '1', 'X-OTHER': '2', 'x-kept': '3' };
    expect(upstreamRequestHeaders(sent, false)).toEqual({ 'x-kept': '3' });
  });

  it('the payment from the gateway, the same for each attempt', () => {
    const id = 'x402/solana:E/ab';
    expect(paymentHeaders(id)).toEqual({ 'idempotency-key': id, 'x-sluice-payment': id });
  });
});

describe('the buyer gets', () => {
  it('the headers of the upstream, with repeated ones apart', () => {
    const sent = { 'Content-Type': 'text/plain', 'set-cookie': ['a=1', 'b=2'], etag: undefined };
    expect(upstreamResponseHeaders(sent)).toEqual({
      'content-type': 'text/plain',
      'set-cookie': ['a=1', 'b=2'],
    });
  });

  it.each([
    ...HOP_BY_HOP,
    'PAYMENT-REQUIRED',
    'PAYMENT-RESPONSE',
    'PAYMENT-SIGNATURE',
    'X-PAYMENT',
    'X-PAYMENT-RESPONSE',
    'EXTENSION-RESPONSES',
    'Settlement-Overrides',
    'X-Accel-Redirect',
    'X-Sendfile',
    'X-Sluice-Payment',
    'Sluice-Payment',
    'Content-Length',
    'Alt-Svc',
  ])('no %s of the upstream', (name) => {
    expect(upstreamResponseHeaders({ [name]: 'a', etag: '"1"' })).toEqual({ etag: '"1"' });
  });

  it('no header that the upstream names in Connection', () => {
    expect(upstreamResponseHeaders({ connection: 'X-Internal', 'x-internal': '1', etag: '"1"' })).toEqual({
      etag: '"1"',
    });
  });
});

describe('Cache-Control of a paid answer', () => {
  it.each([
    [undefined, 'private'],
    ['no-store', 'private, no-store'],
    ['max-age=60', 'private, max-age=60'],
    ['public, max-age=60, s-maxage=600', 'private, max-age=60'],
    ['Private', 'private'],
    ['PUBLIC', 'private'],
  ])('of %s is %s', (value, expected) => {
    const headers: Record<string, string> = value === undefined ? {} : { 'cache-control': value };
    expect(paidResponseHeaders(headers)).toEqual({ 'cache-control': expected });
  });

  it('is the only one: shared caches get no other', () => {
    const sent = { 'cdn-cache-control': 'max-age=60', 'surrogate-control': 'max-age=60', etag: '"1"' };
    expect(paidResponseHeaders(sent)).toEqual({ etag: '"1"', 'cache-control': 'private' });
  });
});
