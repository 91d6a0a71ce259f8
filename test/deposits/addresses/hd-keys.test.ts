import { expect, test } from 'vitest';
import { DepositKeys, keyAt, seedOf } from '../../../src/deposits/addresses/hd-keys.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

// SLIP-0010, "Test vector 2 for ed25519": path, private key, public key.
const SEED =
  'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542';
test.each([
  [
    'm',
    '171cb88b1b3c1db25add599712e36245d75bc65a1a5c9e18d76f9f2b1eab4012',
    '8fe9693f8fa62a4305a140b9764c5ee01e455963744fe18204b4fb948249308a',
  ],
  [
    "m/0'/2147483647'",
    'ea4f5bfe8694d8bb74b7b59404632fd5968b774ed545e810de9c32a4fb4192f4',
    '5ba3b9ac6e90e83effcd25ac4e58a1365a9e35a3d3ae5eb07b9e4d90bcf7506d',
  ],
  [
    "m/0'/2147483647'/1'/2147483646'/2'",
    '551d333177df541ad876a60ea71f00447931c0a9da16f227c11ea080d7391b8d',
    '47150c75db263559a70d5778bf36abbab30fb061ad69f69ece61a72b0cfa4fc0',
  ],
])('a key is derived as the SLIP-0010 test vectors show: %s', (path, secret, shown) => {
  const key = keyAt(new Uint8Array(Buffer.from(SEED, 'hex')), path);
  expect([hex(key.privateKey), hex(key.publicKeyRaw)]).toEqual([secret, shown]);
});

// The addresses that wallets show for published mnemonics: Phantom for the first, several wallets and libraries for the others.
test.each([
  [
    'crush desk brain index action subject tackle idea trim unveil lawn live',
    ['7EWwMxKQa5Gru7oTcS1Wi3AaEgTfA6MU3z7MaLUT6hnD'],
  ],
  [`${'abandon '.repeat(11)}about`, ['HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk']],
  [
    'have work cattle cream victory just garden pilot lonely fiscal rough winner',
    ['Bsw8DaAn7tb7n4AuP1WWVDS4BjEW3EVKnDwobqx8WYFC', 'B3GyLfJNL8mN4JNh6NNzCSKoYDGPh5cKsZ5sUd1bgCfB'],
  ],
])('a mnemonic gives the addresses that wallets show for it: %s', async (words, shown) => {
  const keys = new DepositKeys(await seedOf(` ${words.toUpperCase().replaceAll(' ', '\n')}\n`));
  const entries = shown.map((address, index) => ({ path: `m/44'/501'/${index}'/0'`, address }));
  expect(shown.map((_, index) => keys.entry(index))).toEqual(entries);
});

test('an invalid mnemonic is refused, and the error does not quote it', async () => {
  const refused = seedOf(`${'abandon '.repeat(11)}secretword`);
  await expect(refused).rejects.toMatchObject({ code: 'InvalidRequest' });
  await expect(refused).rejects.not.toThrow('secretword');
  await expect(seedOf(`${'abandon '.repeat(12)}`)).rejects.toMatchObject({ code: 'InvalidRequest' });
});
