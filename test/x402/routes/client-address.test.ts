import { describe, expect, it } from 'vitest';
import {
  clientAddress,
  isUntrustedForwarding,
  readProxies,
} from '../../../src/x402/routes/client-address.ts';

const PROXIES = readProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);
const behind = (forwarded: string | undefined, peer = '10.0.0.1') =>
  clientAddress(peer, { 'x-forwarded-for': forwarded }, PROXIES);

describe('the address of a client', () => {
  it('is that of the socket, in one spelling', () => {
    expect(clientAddress('203.0.113.9', {}, PROXIES)).toBe('203.0.113.9');
    expect(clientAddress('::ffff:203.0.113.9', {}, [])).toBe('203.0.113.9');
    expect(clientAddress('2001:DB9:0::1', {}, PROXIES)).toBe('2001:db9::1');
    expect(clientAddress('', {}, [])).toBeNull();
  });

  it.each(['x-forwarded-for', 'forwarded', 'x-real-ip'])(
    'is unknown where an untrusted proxy sends %s',
    (name) => {
      const headers = { [name]: '198.51.100.1' };
      expect(clientAddress('203.0.113.9', headers, PROXIES)).toBeNull();
      expect(isUntrustedForwarding('203.0.113.9', headers, PROXIES)).toBe(true);
      expect(isUntrustedForwarding('203.0.113.9', {}, PROXIES)).toBe(false);
      expect(isUntrustedForwarding('10.0.0.1', headers, PROXIES)).toBe(false);
    },
  );

  it.each([
    ['the only address', '203.0.113.9', '203.0.113.9'],
    ['the last address, since a client can send earlier ones', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['the last address that is not a proxy', '198.51.100.1, 203.0.113.9,10.0.0.2 , 192.0.2.7', '203.0.113.9'],
    ['the address without its port', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 address with a port', '[2001:db9::1]:4711', '2001:db9::1'],
    ['a mapped address', '::ffff:203.0.113.9', '203.0.113.9'],
    ['the last one before a proxy with IPv6', '203.0.113.9, 2001:db8::5', '203.0.113.9'],
  ])('behind proxies is %s of X-Forwarded-For', (_name, forwarded, expected) => {
    expect(behind(forwarded)).toBe(expected);
    expect(behind(forwarded, '::ffff:10.0.0.1')).toBe(expected);
    expect(behind(forwarded, '192.0.2.7')).toBe(expected);
  });

  it.each([
    ['the proxy sends no address: its own belongs to all its clients', undefined],
    ['the header is empty', ''],
    ['all addresses are proxies', '10.0.0.3, 10.0.0.2'],
    ['the last entry is not an address', '203.0.113.9, unknown'],
    ['the last entry is a number', '203.0.113.9, 3405803785'],
    ['an entry is empty', '203.0.113.9, '],
  ])('behind proxies is unknown where %s', (_name, forwarded) => {
    expect(behind(forwarded)).toBeNull();
  });

  it('behind a proxy is unknown where Forwarded is also present: a client may have sent one of the two', () => {
    const headers = { forwarded: 'for=198.51.100.1', 'x-forwarded-for': '203.0.113.9' };
    expect(clientAddress('10.0.0.1', headers, PROXIES)).toBeNull();
  });
});

describe('the setting of trusted proxies', () => {
  it.each(['localhost', '10.0.0.0/33', '10', '', '10.0.0.1:80'])('refuses %s', (text) => {
    expect(() => readProxies(['10.0.0.1', text])).toThrow(
      `${text} must be an IP address, or a network such as 10.0.0.0/8`,
    );
  });
});
