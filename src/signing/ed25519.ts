import { createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { base58 } from '@scure/base';

const OKP = { kty: 'OKP', crv: 'Ed25519' } as const;

/** The public key of an address (base58 of 32 bytes). */
export function publicKeyOf(address: string): KeyObject {
  return createPublicKey({ format: 'jwk', key: { ...OKP, x: base64url(base58.decode(address)) } });
}

/** The private key of a 32-byte seed. OpenSSL ignores `claimed` and derives the public key: see {@link addressOf}. */
export function privateKeyOf(seed: Uint8Array, claimed: Uint8Array): KeyObject {
  return createPrivateKey({ format: 'jwk', key: { ...OKP, d: base64url(seed), x: base64url(claimed) } });
}

export function addressOf(key: KeyObject): string {
  const { x } = createPublicKey(key).export({ format: 'jwk' });
  return base58.encode(new Uint8Array(Buffer.from(x ?? '', 'base64url')));
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

/** True if `signature` (64 bytes) is valid for these bytes and the wallet `address` (base58). */
export function verifySignature(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  return verify(null, message, publicKeyOf(address), signature);
}
