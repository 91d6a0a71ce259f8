import { sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { base58 } from '@scure/base';
import { z } from 'zod';
import { DomainError } from '../domain/errors.ts';
import { addressOf, privateKeyOf } from './ed25519.ts';

/**
 * Has one key. `sign` returns a 64-byte ed25519 signature, which may differ on each call. `sign` has no time limit:
 * an implementation that may hang must reject by itself.
 */
export interface Signer {
  readonly address: string;
  sign(message: Uint8Array): Promise<Uint8Array>;
}

const keygenFile = z.array(z.number().int().min(0).max(255)).length(64);

/**
 * Loads a solana-keygen key: a file path, or the JSON array itself (64 numbers: seed and public key). Throws
 * DomainError InvalidRequest; no error message contains a part of the key.
 */
export async function loadKeypair(pathOrJson: string): Promise<Signer> {
  const text = pathOrJson.trimStart().startsWith('[') ? pathOrJson : await readKeyFile(pathOrJson);
  const bytes = readKeygen(text);
  const key = privateKeyOf(bytes.subarray(0, 32), bytes.subarray(32));
  const address = addressOf(key);
  if (address !== base58.encode(bytes.subarray(32))) {
    throw unusable('its public half does not belong to its secret half');
  }
  bytes.fill(0);
  return { address, sign: async (message) => new Uint8Array(sign(null, message, key)) };
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw unusable('the file cannot be read');
  }
}

function readKeygen(text: string): Buffer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unusable('it is not JSON');
  }
  const parsed = keygenFile.safeParse(value);
  if (!parsed.success) throw unusable('it is not an array of 64 bytes');
  return Buffer.from(parsed.data);
}

// No cause is attached: JSON and file errors may quote the key.
function unusable(reason: string): DomainError {
  return new DomainError('InvalidRequest', `the signer key cannot be used: ${reason}`);
}
