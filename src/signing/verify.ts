import { verify } from 'node:crypto';
import { publicKeyOf } from './ed25519.ts';

/** True if `signature` (64 bytes) is valid for these bytes and the wallet `address` (base58). */
export function verifySignature(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  return verify(null, message, publicKeyOf(address), signature);
}
