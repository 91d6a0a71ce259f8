import { describe, expect, it } from 'vitest';
import { faultOfUrl, isPublicAddress } from '../../src/webhooks/public-address.ts';

const PUBLIC = ['93.184.216.34', '1.1.1.1', '2606:4700:4700::1111', '::ffff:93.184.216.34', '172.32.0.1'];
const OTHERS = [
  ['this host', '0.0.0.0'],
  ['this host', '0.1.2.3'],
  ['loopback', '127.0.0.1'],
  ['loopback', '127.255.255.254'],
  ['private', '10.0.0.1'],
  ['private', '172.16.0.1'],
  ['private', '172.31.255.255'],
  ['private', '192.168.1.1'],
  ['metadata of clouds', '169.254.169.254'],
  ['carrier-grade NAT', '100.64.0.1'],
  ['benchmarking', '198.18.0.1'],
  ['documentation', '203.0.113.9'],
  ['6to4 relay', '192.88.99.1'],
  ['multicast', '224.0.0.251'],
  ['reserved', '240.0.0.1'],
  ['broadcast', '255.255.255.255'],
  ['unspecified', '::'],
  ['loopback', '::1'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['unique-local', 'fd00:ec2::254'],
  ['site-local', 'fec0::1'],
  ['multicast', 'ff02::1'],
  ['IPv4-mapped loopback', '::ffff:127.0.0.1'],
  ['IPv4-mapped metadata', '::ffff:a9fe:a9fe'],
  ['IPv4-compatible', '::7f00:1'],
  ['IPv4-translated', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['NAT64 of a local prefix', '64:ff9b:1::a9fe:a9fe'],
  ['6to4', '2002:7f00:1::'],
  ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['documentation', '2001:db8::1'],
  ['discard', '100::1'],
  ['not an address', 'localhost'],
  ['nothing', ''],
] as const;

describe('an address of the public Internet', () => {
  it.each(PUBLIC)('%s is one', (address) => expect(isPublicAddress(address)).toBe(true));
  it.each(OTHERS)('%s %s is none', (_kind, address) => expect(isPublicAddress(address)).toBe(false));
});

describe('the URL of a webhook', () => {
  it.each([
    'https://exchange.example/hooks?a=b',
    'https://93.184.216.34/',
    'https://[2606:4700:4700::1111]/',
  ])('%s is taken', (url) => expect(faultOfUrl(url, false)).toBeNull());

  it.each([
    ['https', 'http://exchange.example/'],
    ['https', 'ftp://exchange.example/'],
    ['https', 'file:///etc/passwd'],
    ['user', 'https://me:secret@exchange.example/'],
    ['fragment', 'https://exchange.example/#x'],
    ['URL', 'exchange.example'],
    ['127.0.0.1', 'https://127.0.0.1/'],
    ['127.0.0.1', 'https://0x7f.1/'],
    ['127.0.0.1', 'https://2130706433/'],
    ['::ffff:7f00:1', 'https://[::ffff:127.0.0.1]/'],
    ['169.254.169.254', 'https://169.254.169.254/latest/meta-data'],
  ])('for %s, %s is refused', (named, url) => expect(faultOfUrl(url, false)).toContain(named));

  it('may be private and plain where that is allowed, but nothing else', () => {
    expect(faultOfUrl('http://127.0.0.1:9/', true)).toBeNull();
    expect(faultOfUrl('http://me:secret@127.0.0.1/', true)).not.toBeNull();
    expect(faultOfUrl('file:///etc/passwd', true)).not.toBeNull();
  });
});
