import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { base58 } from '@scure/base';
import { newApiKey } from '../../src/ledger/operations/api-keys.ts';
import { addressOf, privateKeyOf } from '../../src/signing/ed25519.ts';

const SEED_BYTES = 32;
const KEYPAIR_BYTES = 64;

/** A file in the format of solana-keygen: a JSON array of 64 bytes, the seed and the public key. */
export interface KeypairFile {
  readonly path: string;
  readonly address: string;
}

// Not `generateKeyPairSync`: Node.js 20 hangs if garbage is collected while one of its key objects is exported.
function newKeypair() {
  const seed = randomBytes(SEED_BYTES);
  return { address: addressOf(privateKeyOf(seed, seed)), seed };
}

export function newAddress(): string {
  return newKeypair().address;
}

/** The keypair file at `path`. Creates the file, readable by its owner only, if it does not exist. */
export function keypairFile(path: string): KeypairFile {
  const text = readOrCreateFile(path, () => {
    const { seed, address } = newKeypair();
    return JSON.stringify([...seed, ...base58.decode(address)]);
  });
  const bytes = JSON.parse(text) as number[];
  if (bytes.length !== KEYPAIR_BYTES)
    throw new Error(`${path} is not a solana-keygen file of ${KEYPAIR_BYTES} bytes`);
  return { path, address: base58.encode(Uint8Array.from(bytes.slice(SEED_BYTES))) };
}

/** The 64 bytes of a solana-keygen file. */
export function secretKeyOf(path: string): Uint8Array {
  return Uint8Array.from(JSON.parse(readFileSync(path, 'utf8')) as number[]);
}

/** The API key in the file at `path`. Creates the file if it does not exist, so that the key stays the same after a restart. */
export function storedApiKey(path: string): string {
  return readOrCreateFile(path, () => `${newApiKey()}\n`).trim();
}

/** The name of a local stack's API key. Derived from the key, so that stacks that share a database have different names. */
export function apiKeyNameOf(key: string): string {
  return `dev-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
}

/** The text of the file at `path`. Creates it, readable by its owner only, if it does not exist; never overwrites it. */
export function readOrCreateFile(path: string, createText: () => string): string {
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, createText(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return readFileSync(path, 'utf8');
}
