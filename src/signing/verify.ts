import { verify } from 'node:crypto';
import { publicKeyOf } from './ed25519.ts';

/** True where `signature` (64 bytes) is one of the wallet `address` (base58) over exactly these bytes. */
export function verifySignature(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  return verify(null, message, publicKeyOf(address), signature);
}
