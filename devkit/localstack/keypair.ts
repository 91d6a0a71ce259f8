import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { base58 } from '@scure/base';
import { newApiKey } from '../../src/ledger/operations/api-keys.ts';
import { addressOf, privateKeyOf } from '../../src/signing/ed25519.ts';

const SEED_BYTES = 32;
const FILE_BYTES = 64;

/** A keypair file as solana-keygen writes it: a JSON array of 64 bytes, seed and public key. */
export interface KeypairFile {
  readonly path: string;
  readonly address: string;
}

// From a seed: the key objects of `generateKeyPairSync` make Node.js 20 wait for ever where memory is collected while one is exported.
function newKeypair() {
  const seed = randomBytes(SEED_BYTES);
  return { address: addressOf(privateKeyOf(seed, seed)), seed };
}

/** A new address on the curve. Its private key is not kept. */
export function newAddress(): string {
  return newKeypair().address;
}

/** The keypair in `path`, created (readable by the owner only) if the file does not exist. */
export function keypairFile(path: string): KeypairFile {
  const text = keptFile(path, () => {
    const { seed, address } = newKeypair();
    return JSON.stringify([...seed, ...base58.decode(address)]);
  });
  const bytes = JSON.parse(text) as number[];
  if (bytes.length !== FILE_BYTES)
    throw new Error(`${path} is not a solana-keygen file of ${FILE_BYTES} bytes`);
  return { path, address: base58.encode(Uint8Array.from(bytes.slice(SEED_BYTES))) };
}

/** The API key in the file `path`, created if it does not exist, so that the key survives a restart. */
export function keptApiKey(path: string): string {
  return keptFile(path, () => `${newApiKey()}\n`).trim();
}

/** The recorded name of a key of a local stack. Derived from the key, so that stacks that share a database have different names. */
export function nameOfKey(key: string): string {
  return `dev-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
}

/** The text of the file `path`, created (readable by the owner only) if it does not exist. An existing file is never overwritten. */
export function keptFile(path: string, make: () => string): string {
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, make(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return readFileSync(path, 'utf8');
}
