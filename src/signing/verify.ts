import { createPublicKey, verify } from 'node:crypto';
import { base58 } from '@scure/base';

const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');

/** True where `signature` (64 bytes) is one of the wallet `address` (base58) over exactly these bytes. */
export function verifySignature(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  const key = createPublicKey({
    key: Buffer.concat([SPKI_ED25519, base58.decode(address)]),
    format: 'der',
    type: 'spki',
  });
  return verify(null, message, key, signature);
}
