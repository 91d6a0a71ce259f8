import { createHash, createHmac, createPublicKey, type KeyObject } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import type { JSONWebKeySet } from 'jose';
import { privateKeyOf } from '../../signing/ed25519.ts';

/** The algorithm of access passes. Source: RFC 8037. */
export const PASS_ALGORITHM = 'EdDSA';

/** The Ed25519 keys of the access passes of one gateway. */
export interface PassKeys {
  /** Signs new passes. */
  readonly signing: { readonly kid: string; readonly key: KeyObject };
  /** Public keys of all passes that are valid, for `/.well-known/jwks.json`. */
  readonly jwks: JSONWebKeySet;
}

/**
 * Derives a key from each secret. The first key signs; a pass is valid under any of them. Every gateway with the same
 * secrets and public URL has the same keys. A key depends on the public URL, so that a pass of another gateway with the
 * same secret is not valid here.
 */
export function passKeysOf(secrets: readonly [string, ...string[]], publicUrl: string): PassKeys {
  const [signing, ...others] = secrets.map((secret) => {
    const seed = createHmac('sha256', secret).update(`sluice/x402/access-pass/1|${publicUrl}`).digest();
    return keyOf(privateKeyOf(seed, ed25519.getPublicKey(seed)));
  });
  if (signing === undefined) throw new Error('access passes have no key');
  return { signing, jwks: { keys: [signing, ...others].map(({ jwk }) => jwk) } };
}

function keyOf(key: KeyObject) {
  const { crv = '', kty = '', x = '' } = createPublicKey(key).export({ format: 'jwk' });
  // The thumbprint of RFC 7638: the required members in lexicographic order.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
  return { kid, key, jwk: { kty, crv, x, kid, alg: PASS_ALGORITHM, use: 'sig' } };
}
