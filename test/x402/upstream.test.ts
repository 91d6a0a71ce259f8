import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redirectTarget, verdictOf } from '../../src/x402/upstream.ts';

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
