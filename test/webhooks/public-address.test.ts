import ipaddr from 'ipaddr.js';
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

/** Every block of IANA's IPv4 and IPv6 Special-Purpose Address Registries (2024-10), globally reachable or not. */
const SPECIAL_BLOCKS = `
  0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 192.0.0.8/32
  192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.88.99.2/32
  192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32
  ::1/128 ::/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128 2001:1::2/128
  2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2002::/16
  2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10
  `
  .trim()
  .split(/\s+/);

/** Addresses at which clouds give a machine its metadata and keys. */
const OF_CLOUDS = [
  ['AWS, Google, Azure, Oracle and most others', '169.254.169.254'],
  ['AWS containers', '169.254.170.2'],
  ['AWS pods', '169.254.170.23'],
  ['AWS', 'fd00:ec2::254'],
  ['AWS pods', 'fd00:ec2::23'],
  ['Google', 'fd20:ce::254'],
  ['Oracle', 'fd00:c1::a9fe:a9fe'],
  ['Oracle, formerly', '192.0.0.192'],
  ['OpenStack', 'fe80::a9fe:a9fe'],
  ['Scaleway', '169.254.42.42'],
  ['Scaleway', 'fd00:42::42'],
  ['Tencent', '169.254.0.23'],
  ['Alibaba', '100.100.100.200'],
  ['Azure, the agent of the host', '168.63.129.16'],
  ['the same as IPv6', '::ffff:168.63.129.16'],
] as const;

/** The first and the last address of a block. */
function endsOf(block: string): readonly [string, string] {
  const [address, prefix] = ipaddr.parseCIDR(block);
  const bytes = address.toByteArray();
  const last = bytes.map((byte, n) => byte | (0xff >> Math.min(8, Math.max(0, prefix - 8 * n))));
  return [address.toString(), ipaddr.fromByteArray(last).toString()];
}

describe('the check for public addresses', () => {
  it.each(PUBLIC)('accepts %s', (address) => expect(isPublicAddress(address)).toBe(true));
  it.each(OTHERS)('refuses %s %s', (_kind, address) => expect(isPublicAddress(address)).toBe(false));
  it.each(OF_CLOUDS)('refuses the metadata address of %s, %s', (_cloud, address) =>
    expect(isPublicAddress(address)).toBe(false),
  );

  it.each(SPECIAL_BLOCKS)('refuses all of %s', (block) => {
    for (const address of endsOf(block))
      expect([address, isPublicAddress(address)]).toEqual([address, false]);
  });

  it('accepts the addresses before and after that of Azure', () => {
    for (const address of ['168.63.129.15', '168.63.129.17']) expect(isPublicAddress(address)).toBe(true);
  });
});

describe('the check for webhook URLs', () => {
  it.each([
    'https://exchange.example/hooks?a=b',
    'https://93.184.216.34/',
    'https://[2606:4700:4700::1111]/',
  ])('accepts %s', (url) => expect(faultOfUrl(url, false)).toBeNull());

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
    ['168.63.129.16', 'https://168.63.129.16:32526/vmSettings'],
  ])('refuses, for %s, %s', (named, url) => expect(faultOfUrl(url, false)).toContain(named));

  it('accepts private and plain URLs where the setting allows them, and nothing else', () => {
    expect(faultOfUrl('http://127.0.0.1:9/', true)).toBeNull();
    expect(faultOfUrl('http://me:secret@127.0.0.1/', true)).not.toBeNull();
    expect(faultOfUrl('file:///etc/passwd', true)).toBe('must be an http or https URL');
  });
});
