import { createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { base58 } from '@scure/base';

const OKP = { kty: 'OKP', crv: 'Ed25519' } as const;

export function publicKeyOf(address: string): KeyObject {
  return createPublicKey({ format: 'jwk', key: { ...OKP, x: base64url(base58.decode(address)) } });
}

/** Private key of a 32-byte seed. OpenSSL ignores `publicKey` and derives its own: compare {@link addressOf}. */
export function privateKeyOf(seed: Uint8Array, publicKey: Uint8Array): KeyObject {
  return createPrivateKey({ format: 'jwk', key: { ...OKP, d: base64url(seed), x: base64url(publicKey) } });
}

export function addressOf(key: KeyObject): string {
  const { x } = createPublicKey(key).export({ format: 'jwk' });
  return base58.encode(new Uint8Array(Buffer.from(x ?? '', 'base64url')));
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

/** True if `signature` (64 bytes) is the signature of `message` by the key of `address` (base58). */
export function verifySignature(address: string, message: Uint8Array, signature: Uint8Array): boolean {
  return verify(null, message, publicKeyOf(address), signature);
}
