import { describe, expect, it } from 'vitest';
import { addressLimiter } from '../../../src/x402/rate-limit.ts';
import {
  clientAddress,
  clientAdvice,
  limitedAddress,
  readProxies,
} from '../../../src/x402/routes/client-address.ts';

const trustedProxies = readProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);
const PROXIES = { trustedProxies, directClients: false };
const NO_PROXIES = { trustedProxies: [], directClients: false };
const DIRECT = { trustedProxies, directClients: true };
const behind = (forwarded: string | undefined, peer = '10.0.0.1') =>
  clientAddress(peer, { 'x-forwarded-for': forwarded }, PROXIES);

describe('the address of a client', () => {
  it('is that of the socket, in one spelling', () => {
    expect(clientAddress('203.0.112.9', {}, PROXIES)).toBe('203.0.112.9');
    expect(clientAddress('::ffff:203.0.112.9', {}, NO_PROXIES)).toBe('203.0.112.9');
    expect(clientAddress('2001:DB9:0::1', {}, PROXIES)).toBe('2001:db9::1');
    expect(clientAddress('', {}, NO_PROXIES)).toBeNull();
  });

  it.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'via'])(
    'is unknown where an untrusted proxy sends %s',
    (name) => {
      const headers = { [name]: '198.51.99.1' };
      for (const network of [PROXIES, DIRECT]) {
        expect(clientAddress('203.0.112.9', headers, network)).toBeNull();
        expect(clientAdvice('203.0.112.9', headers, network)).toMatch(
          /add it to SLUICE_X402_TRUSTED_PROXIES/,
        );
      }
      expect(clientAdvice('203.0.112.9', {}, PROXIES)).toBeNull();
    },
  );

  it.each([
    ['private', '192.168.1.9'],
    ['the bridge of Docker', '172.17.0.1'],
    ['loopback', '127.0.0.1'],
    ['loopback of IPv6', '::1'],
    ['link-local', '169.254.7.7'],
    ['link-local of IPv6', 'fe80::1'],
    ['of a carrier-grade NAT', '100.64.0.9'],
    ['a unique local address', 'fd00::9'],
    ['a mapped private address', '::ffff:192.168.1.9'],
  ])('is unknown where the socket is %s, unless clients connect directly', (_what, peer) => {
    expect(clientAddress(peer, {}, PROXIES)).toBeNull();
    expect(clientAdvice(peer, {}, PROXIES)).toMatch(
      /SLUICE_X402_TRUSTED_PROXIES .*SLUICE_X402_DIRECT_CLIENTS=true/,
    );
    expect(clientAddress(peer, {}, DIRECT)).toBe(peer.replace('::ffff:', ''));
    expect(clientAdvice(peer, {}, DIRECT)).toBeNull();
    expect(behind(peer)).toBeNull();
    expect(clientAddress('10.0.0.1', { 'x-forwarded-for': peer }, DIRECT)).toBe(peer.replace('::ffff:', ''));
  });

  it('is unknown behind a trusted proxy that sends no X-Forwarded-For, and the advice says so', () => {
    expect(clientAdvice('10.0.0.1', {}, PROXIES)).toMatch(/sends no X-Forwarded-For/);
    expect(clientAdvice('10.0.0.1', { 'x-forwarded-for': '203.0.112.9' }, PROXIES)).toBeNull();
  });

  it.each([
    ['the only address', '203.0.112.9', '203.0.112.9'],
    ['the last address, since a client can send earlier ones', '198.51.99.1, 203.0.112.9', '203.0.112.9'],
    ['the last address that is not a proxy', '198.51.99.1, 203.0.112.9,10.0.0.2 , 192.0.2.7', '203.0.112.9'],
    ['the address without its port', '203.0.112.9:4711', '203.0.112.9'],
    ['an IPv6 address with a port', '[2001:db9::1]:4711', '2001:db9::1'],
    ['a mapped address', '::ffff:203.0.112.9', '203.0.112.9'],
    ['the last one before a proxy with IPv6', '203.0.112.9, 2001:db8::5', '203.0.112.9'],
  ])('behind proxies is %s of X-Forwarded-For', (_name, forwarded, expected) => {
    expect(behind(forwarded)).toBe(expected);
    expect(behind(forwarded, '::ffff:10.0.0.1')).toBe(expected);
    expect(behind(forwarded, '192.0.2.7')).toBe(expected);
  });

  it.each([
    ['the proxy sends no address: its own belongs to all its clients', undefined],
    ['the header is empty', ''],
    ['all addresses are proxies', '10.0.0.3, 10.0.0.2'],
    ['the last entry is not an address', '203.0.112.9, unknown'],
    ['the last entry is a number', '203.0.112.9, 3405803785'],
    ['an entry is empty', '203.0.112.9, '],
  ])('behind proxies is unknown where %s', (_name, forwarded) => {
    expect(behind(forwarded)).toBeNull();
  });

  it('behind a proxy is unknown where Forwarded is also present: a client may have sent one of the two', () => {
    const headers = { forwarded: 'for=198.51.99.1', 'x-forwarded-for': '203.0.112.9' };
    expect(clientAddress('10.0.0.1', headers, PROXIES)).toBeNull();
  });
});

describe('the address that is limited', () => {
  const limited = (peer: string, headers: object) => limitedAddress(peer, { ...headers }, trustedProxies);

  it('is that of an untrusted sender itself, whatever headers it sends', () => {
    const takeToken = addressLimiter({ perSecond: 0.001, burst: 2 });
    const headers = [{}, { via: 'x' }, { forwarded: 'for=8.8.4.4' }, { 'x-forwarded-for': '8.8.4.4' }];
    const seconds = headers.map((each) => takeToken(limited('8.8.8.8', each)));
    expect(seconds.map((each) => each > 0)).toEqual([false, false, true, true]);
    expect(limited('172.17.0.1', { via: 'x' })).toBe('172.17.0.1');
  });

  it('is the last entry of X-Forwarded-For behind trusted proxies, whatever else the client sends', () => {
    const forwarded = { 'x-forwarded-for': '8.8.4.4, 8.8.8.8, 10.0.0.2' };
    for (const more of [{}, { via: 'x' }, { forwarded: 'for=8.8.4.4' }])
      expect(limited('10.0.0.1', { ...forwarded, ...more })).toBe('8.8.8.8');
    expect(limited('10.0.0.1', {})).toBeNull();
    expect(limited('', forwarded)).toBeNull();
  });
});

describe('the setting of trusted proxies', () => {
  it.each(['localhost', '10.0.0.0/33', '10', '', '10.0.0.1:80'])('refuses %s', (text) => {
    expect(() => readProxies(['10.0.0.1', text])).toThrow(
      `${text} must be an IP address, or a network such as 10.0.0.0/8`,
    );
  });
});
