import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import { Keypair, PublicKey } from '@solana/web3.js';
import { beforeAll, expect, test } from 'vitest';
import {
  type AddressEntry,
  type AddressManifest,
  checkManifest,
  MAX_MANIFEST_ENTRIES,
  type ManifestTrust,
} from '../../../src/deposits/addresses/address-manifest.ts';
import { DepositKeys } from '../../../src/deposits/addresses/hd-keys.ts';

const keys = new DepositKeys(new Uint8Array(64).fill(7));
const others = new DepositKeys(new Uint8Array(64).fill(8));
let good: AddressManifest;

beforeAll(() => {
  good = keys.manifest([0, 1, 2].map((index) => keys.entry(index)));
});

/** The list that the key's owner signed, also where its content is invalid. */
function signed(change: (entries: AddressEntry[]) => AddressEntry[]): AddressManifest {
  return keys.manifest(change([...good.entries]));
}

const DEVNET = { cluster: 'devnet' } as const;

async function fieldAtFault(manifest: AddressManifest, trust: ManifestTrust = DEVNET): Promise<unknown> {
  const refused = await checkManifest(manifest, trust).then(
    () => null,
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: 'ManifestRejected' });
  return (refused as { context: { field: string } }).context.field;
}

test('a signed list is accepted with its own key and with the configured key', async () => {
  await expect(checkManifest(good, DEVNET)).resolves.toBeUndefined();
  const copy = JSON.parse(JSON.stringify(good)) as AddressManifest;
  for (const cluster of ['devnet', 'mainnet-beta'])
    await expect(checkManifest(copy, { cluster, manifestKey: keys.manifestKey })).resolves.toBeUndefined();
});

test('a list with a valid signature of another key is refused where a key is configured', async () => {
  const foreign = others.manifest([others.entry(0)]);
  await expect(checkManifest(foreign, DEVNET)).resolves.toBeUndefined();
  const { manifestKey } = keys;
  const strict = { ...DEVNET, manifestKey };
  expect(await fieldAtFault(foreign, strict)).toBe('manifest.publicKey');
  expect(await fieldAtFault({ ...foreign, publicKey: manifestKey }, strict)).toBe('manifest.signature');
});

test('on mainnet, no list is accepted where no key is configured', async () => {
  expect(await fieldAtFault(good, { cluster: 'mainnet-beta' })).toBe('manifest.publicKey');
});

test.each<[string, (manifest: AddressManifest) => AddressManifest]>([
  ['an address exchanged', (m) => ({ ...m, entries: [...m.entries.slice(1), others.entry(0)] })],
  ['an entry left out', (m) => ({ ...m, entries: m.entries.slice(1) })],
  ['two entries exchanged', (m) => ({ ...m, entries: m.entries.toReversed() })],
  ['a signature of another text', (m) => ({ ...m, signature: base58.encode(new Uint8Array(64)) })],
  ['a signature that is too short', (m) => ({ ...m, signature: m.signature.slice(2) })],
  ['a signature that is not base58', (m) => ({ ...m, signature: '0'.repeat(88) })],
  ['a key that is not base58', (m) => ({ ...m, publicKey: '0'.repeat(44) })],
])('a list that was changed after it was signed is refused: %s', async (_, touch) => {
  expect(await fieldAtFault(touch(good))).toBe('manifest.signature');
});

test('a key of small order, for which every signature is valid, is refused', async () => {
  const identity = ed25519.Point.ZERO.toBytes();
  const signature = base58.encode(new Uint8Array([...identity, ...new Uint8Array(32)]));
  const forged = { ...good, publicKey: base58.encode(identity), signature };
  expect(await fieldAtFault(forged)).toBe('manifest.signature');
});

test('an address that no key can have is refused, although the list is signed', async () => {
  const [mint] = PublicKey.findProgramAddressSync([Buffer.from('x')], PublicKey.default);
  for (const address of [mint.toBase58(), 'short', PublicKey.default.toBase58()]) {
    const list = signed((entries) => [...entries, { path: "m/44'/501'/9'/0'", address }]);
    expect(await fieldAtFault(list)).toBe('manifest.entries.3.address');
  }
});

test('a list that names an address or a path twice is refused', async () => {
  const [first = keys.entry(0)] = good.entries;
  const again = signed((entries) => [...entries, { ...first, path: "m/44'/501'/9'/0'" }]);
  expect(await fieldAtFault(again)).toBe('manifest.entries.3.address');
  const address = Keypair.generate().publicKey.toBase58();
  expect(await fieldAtFault(signed((entries) => [...entries, { ...first, address }]))).toBe(
    'manifest.entries.3.path',
  );
});

test.each(["m/44'/501'/1'/0", "m/44'/501'/01'/0'", "m/44' /0'", '', 'm', "m/44'\n/0'"])(
  'a path with a step that is not hardened is refused: %j',
  async (path) => {
    expect(await fieldAtFault(signed(([one = keys.entry(0)]) => [{ ...one, path }]))).toBe(
      'manifest.entries.0.path',
    );
  },
);

test('a list has 1 to 10,000 entries', async () => {
  expect(await fieldAtFault(signed(() => []))).toBe('manifest.entries');
  const many = Array<AddressEntry>(MAX_MANIFEST_ENTRIES + 1).fill(keys.entry(0));
  expect(await fieldAtFault({ ...good, entries: many })).toBe('manifest.entries');
});
