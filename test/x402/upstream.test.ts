import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../devkit/localstack/ports.ts';
import { askUpstream, redirectTarget, verdictOf } from '../../src/x402/upstream.ts';
import { startHttp } from '../support/http.ts';

describe('a response of the upstream', () => {
  it('serves a payment only with 2xx, and leaves it owed where a repetition can help', () => {
    const transient = [408, 425, 429];
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), (status) => {
        const isServed = status < 300;
        const isOwed = status >= 500 || transient.includes(status);
        expect(verdictOf(status)).toBe(isServed ? 'served' : isOwed ? 'owed' : 'refundable');
      }),
    );
  });
});

describe('an upstream without a complete response', () => {
  const reasonFrom = async (url: string, timeoutMs: number) => {
    const asked = { method: 'GET', url, headers: {}, body: new Uint8Array() };
    return askUpstream(asked, { timeoutMs, maxBytes: 1_024, isStreamed: false });
  };

  it('is reported with its time limit only if the time is over, and otherwise with the code of the error', async () => {
    const slow = await startHttp(async (request, response) => {
      if (request.url === '/headers') response.writeHead(200).write('a part');
    });
    for (const path of ['/', '/headers'])
      expect(await reasonFrom(slow.url + path, 50)).toEqual({
        kind: 'none',
        reason: 'the upstream did not respond (no complete response within 50 ms)',
      });
    await slow.close();
    const unused = `http://127.0.0.1:${await freePort()}/`;
    expect(await reasonFrom(unused, 60_000)).toEqual({
      kind: 'none',
      reason: 'the upstream did not respond (ECONNREFUSED)',
    });
  });
});

describe('a redirect', () => {
  const url = 'http://10.0.0.1:8080/reports/7?a=1';
  const targetOf = (location: string | string[] | undefined, { status = 302, method = 'GET' } = {}) =>
    redirectTarget({ method, url }, { status, headers: location === undefined ? {} : { location } });

  it.each([
    ['/other?b=2#part', 'http://10.0.0.1:8080/other?b=2'],
    ['../x', 'http://10.0.0.1:8080/x'],
    ['?b=2', 'http://10.0.0.1:8080/reports/7?b=2'],
    ['HTTP://10.0.0.1:8080', 'http://10.0.0.1:8080/'],
  ])('of a GET to %s is followed', (location, target) => {
    for (const status of [301, 302, 303, 307, 308]) expect(targetOf(location, { status })).toBe(target);
    for (const status of [200, 300, 304, 305, 404]) expect(targetOf(location, { status })).toBeNull();
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(targetOf(location, { method })).toBeNull();
  });

  it.each([
    'https://10.0.0.1:8080/',
    'http://10.0.0.1/',
    'http://10.0.0.2:8080/',
    '//evil.example/',
    '\\\\evil.example/',
    'file:///etc/passwd',
    'http://10.0.0.1:8080@evil.example/',
    'http://[',
    undefined,
    ['/a', '/b'],
  ])('to %s is not followed', (location) => {
    expect(targetOf(location)).toBeNull();
  });

  it('never leads to another origin', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl(), fc.webPath()), (location) => {
        const target = targetOf(location);
        expect(target === null || new URL(target).origin === new URL(url).origin).toBe(true);
      }),
    );
  });
});
