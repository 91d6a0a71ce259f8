import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { base58 } from '@scure/base';

/** A keypair file as solana-keygen writes it: a JSON array of 64 bytes, seed and public key. */
export interface KeypairFile {
  readonly path: string;
  /** base58 public key. */
  readonly address: string;
}

/** 64 bytes: seed and public key. */
function newKeypair(): number[] {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return [...Buffer.from(d ?? '', 'base64url'), ...Buffer.from(x ?? '', 'base64url')];
}

/** A fresh address on the curve, whose private half nobody keeps. */
export function newAddress(): string {
  return base58.encode(Uint8Array.from(newKeypair().slice(32)));
}

/** The keypair of `path`, made (readable by the owner only) where the file does not exist. */
export function keypairFile(path: string): KeypairFile {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify(newKeypair()), { mode: 0o600 });
  }
  const bytes = JSON.parse(readFileSync(path, 'utf8')) as number[];
  if (bytes.length !== 64) throw new Error(`${path} is not a solana-keygen file of 64 bytes`);
  return { path, address: base58.encode(Uint8Array.from(bytes.slice(32))) };
}
