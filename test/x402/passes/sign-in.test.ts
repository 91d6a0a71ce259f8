import { base58 } from '@scure/base';
import { Keypair } from '@solana/web3.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { challengeOf, type SignInChallenge, signChallenge } from '../../../devkit/localstack/sign-in.ts';
import { readSignIn, type SignInPlace, signInChallenge } from '../../../src/x402/passes/sign-in.ts';
import { forgedProofs } from './forgeries.ts';

const PLACE: SignInPlace = {
  publicUrl: 'https://shop.example',
  route: 'GET /weather',
  path: '/weather',
  network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
};
const [SECRET, OTHER] = ['a secret', 'another secret'];
const NOW = Date.parse('2026-11-27T12:00:00.000Z');
const WALLET = Keypair.fromSeed(new Uint8Array(32).fill(7));
const ADDRESS = WALLET.publicKey.toBase58();

function infoOf(place = PLACE, secret = SECRET): SignInChallenge {
  return challengeOf(signInChallenge(secret, place, NOW) as Parameters<typeof challengeOf>[0]);
}

const signed = (info: SignInChallenge, change?: object) => signChallenge(info, WALLET.secretKey, change);

describe('a wallet signs in', () => {
  it('with the challenge of its resource, until the challenge expires, under each secret', () => {
    const header = signed(infoOf());
    expect(readSignIn([SECRET], PLACE, header, NOW)).toEqual({ wallet: ADDRESS });
    expect(readSignIn([OTHER, SECRET], PLACE, header, NOW + 299_999)).toEqual({ wallet: ADDRESS });
    const long = { ...PLACE, path: `/${'a'.repeat(400)}` };
    expect(infoOf(long).uri).toBe('https://shop.example/');
    expect(readSignIn([SECRET], long, signed(infoOf(long)), NOW)).toEqual({ wallet: ADDRESS });
  });

  it('with no other header: a change of any field, other JSON and other text are refused without an exception', () => {
    const header = signed(infoOf());
    fc.assert(
      fc.property(forgedProofs(header), (text) => {
        expect(readSignIn([OTHER, SECRET], PLACE, text, NOW)).toMatchObject({
          error: expect.stringMatching(/^invalid_siwx_/),
        });
      }),
      { numRuns: 500 },
    );
  });

  const info = infoOf();
  const long = `/${'a'.repeat(400)}`;
  it.each([
    ['invalid_siwx_expired', signed(info), PLACE, 300_000],
    ['invalid_siwx_nonce', signed({ ...info, expirationTime: '2027-01-01T00:00:00.000Z' }), PLACE, 0],
    ['invalid_siwx_nonce', signed({ ...info, nonce: '0'.repeat(32) }), PLACE, 0],
    ['invalid_siwx_nonce', signed(infoOf(PLACE, OTHER)), PLACE, 0],
    ['invalid_siwx_nonce', signed(info), { ...PLACE, route: 'POST /weather' }, 0],
    ['invalid_siwx_nonce', signed(infoOf({ ...PLACE, path: long })), { ...PLACE, path: `${long}b` }, 0],
    ['invalid_siwx_uri_mismatch', signed(info), { ...PLACE, path: '/other' }, 0],
    ['invalid_siwx_domain_mismatch', signed(info), { ...PLACE, publicUrl: 'https://evil.example' }, 0],
    ['invalid_siwx_unsupported_chain', signed(info, { chainId: 'solana:mainnet' }), PLACE, 0],
    ['invalid_siwx_signature', signed({ ...info, statement: 'Pay.' }), PLACE, 0],
    ['invalid_siwx_signature', signed(info, { address: Keypair.generate().publicKey.toBase58() }), PLACE, 0],
    // The point of order one, for which signatures need no private key.
    [
      'invalid_siwx_signature',
      signed(info, {
        address: base58.encode(Uint8Array.from([1, ...new Uint8Array(31)])),
        signature: base58.encode(Uint8Array.from([1, ...new Uint8Array(63)])),
      }),
      PLACE,
      0,
    ],
    ['invalid_siwx_malformed', signed(info, { signature: 7 }), PLACE, 0],
    ['invalid_siwx_malformed', 'no base64', PLACE, 0],
    ['invalid_siwx_malformed', undefined, PLACE, 0],
  ] as const)('%s refuses %.0s%j after %d ms', (error, header, place, laterMs) => {
    expect(readSignIn([SECRET], place, header, NOW + laterMs)).toMatchObject({ error });
  });
});
