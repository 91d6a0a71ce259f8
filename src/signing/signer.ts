import { sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { base58 } from '@scure/base';
import { z } from 'zod';
import { DomainError } from '../domain/errors.ts';
import { addressOf, privateKeyOf } from './ed25519.ts';

/** Signs with one key. */
export interface Signer {
  readonly address: string;
  /**
   * Returns a 64-byte ed25519 signature, which can be different on each call. Callers set no time limit: an
   * implementation that can hang must reject on its own.
   */
  sign(message: Uint8Array): Promise<Uint8Array>;
}

const keypairSchema = z.array(z.number().int().min(0).max(255)).length(64);

/**
 * Loads a solana-keygen keypair from a file, or from the JSON array itself (64 bytes: seed, then public key). Throws
 * DomainError InvalidRequest if it is unusable. No error message contains a part of the key.
 */
export async function loadKeypair(pathOrJson: string): Promise<Signer> {
  const text = pathOrJson.trimStart().startsWith('[') ? pathOrJson : await readKeyFile(pathOrJson);
  const bytes = readKeypair(text);
  const key = privateKeyOf(bytes.subarray(0, 32), bytes.subarray(32));
  const address = addressOf(key);
  if (address !== base58.encode(bytes.subarray(32))) {
    throw invalidKey('its public key does not belong to its private key');
  }
  bytes.fill(0);
  return { address, sign: async (message) => new Uint8Array(sign(null, message, key)) };
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw invalidKey('its file cannot be read');
  }
}

function readKeypair(text: string): Buffer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidKey('it is not JSON');
  }
  const parsed = keypairSchema.safeParse(value);
  if (!parsed.success) throw invalidKey('it is not a JSON array of 64 bytes');
  return Buffer.from(parsed.data);
}

// The error has no cause, because errors of JSON.parse and of the file system can quote the key.
function invalidKey(reason: string): DomainError {
  return new DomainError('InvalidRequest', `the signer key cannot be used: ${reason}`);
}
