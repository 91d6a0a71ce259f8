import { randomBytes } from 'node:crypto';
import { base58 } from '@scure/base';
import { addressOf, privateKeyOf } from '../../src/signing/ed25519.ts';
import { keptFile } from './kept-file.ts';

const SEED_BYTES = 32;
const FILE_BYTES = 64;

/** A keypair file as solana-keygen writes it: a JSON array of 64 bytes, seed and public key. */
export interface KeypairFile {
  readonly path: string;
  /** base58 public key. */
  readonly address: string;
}

interface Keypair {
  readonly address: string;
  readonly seed: Uint8Array;
}

// From a seed: the key objects of `generateKeyPairSync` make Node.js 20 wait for ever where memory is collected while one is exported.
function newKeypair(): Keypair {
  const seed = randomBytes(SEED_BYTES);
  return { address: addressOf(privateKeyOf(seed, seed)), seed };
}

/** A fresh address on the curve, whose private half nobody keeps. */
export function newAddress(): string {
  return newKeypair().address;
}

/** The keypair of `path`, made (readable by the owner only) where the file does not exist. */
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
