import { base58 } from '@scure/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WatchSet } from '../../../../src/solana/scan/bytes/watch-set.ts';

const address = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => base58.encode(bytes));
/** Many leading zero bytes make short addresses: from 32 characters up. */
const anyAddress = fc.oneof(
  address,
  fc
    .tuple(fc.integer({ min: 1, max: 32 }), fc.uint8Array({ minLength: 32, maxLength: 32 }))
    .map(([zeros, bytes]) => base58.encode(bytes.fill(0, 0, zeros))),
);

function numbered(index: number): string {
  const bytes = new Uint8Array(32).fill(7);
  new DataView(bytes.buffer).setUint32(28, index);
  return base58.encode(bytes);
}

test('every wallet is found once added, however far the set outgrows its expected size', () => {
  const watched = new WatchSet(0);
  const added = Array.from({ length: 60_000 }, (_, index) => numbered(index));
  for (const [index, wallet] of added.entries()) {
    watched.add(wallet);
    // After each insertion that may grow the table, check an older wallet.
    if (!watched.has(wallet) || !watched.has(added[index >> 1] ?? '')) throw new Error(`lost at ${index}`);
  }
  expect(added.filter((wallet) => !watched.has(wallet))).toEqual([]);
  expect(watched.size).toBe(added.length);
});

test('foreign addresses are not found, even similar ones', () => {
  fc.assert(
    fc.property(fc.uniqueArray(anyAddress, { minLength: 2, maxLength: 40 }), (wallets) => {
      const [stranger = '', ...members] = wallets;
      const watched = new WatchSet(members.length);
      for (const member of members) watched.add(member);
      expect(members.every((member) => watched.has(member))).toBe(true);
      expect(watched.has(stranger)).toBe(false);
    }),
  );
});

test('texts that differ in one character only are distinguished', () => {
  const [wallet] = [base58.encode(new Uint8Array(32).fill(200))];
  const watched = new WatchSet(1);
  watched.add(wallet);
  const namesakes = Array.from(wallet).flatMap((was, at) =>
    Array.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')
      .filter((character) => character !== was)
      .map((character) => wallet.slice(0, at) + character + wallet.slice(at + 1)),
  );
  expect(namesakes.length).toBeGreaterThan(2000);
  expect(namesakes.filter((namesake) => watched.has(namesake))).toEqual([]);
});

test('a wallet added twice counts once', () => {
  const watched = new WatchSet(1);
  watched.add(numbered(1));
  watched.add(numbered(1));
  expect(watched.size).toBe(1);
});

test('a text that is no address is refused, because no scan would find it', () => {
  const watched = new WatchSet(1);
  for (const text of ['', '1'.repeat(31), '1'.repeat(45), '0'.repeat(40), `${'1'.repeat(31)}é`]) {
    expect(() => watched.add(text)).toThrow(RangeError);
    expect(watched.has(text)).toBe(false);
  }
});
