import { createLocalJWKSet, errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { AccessPass } from '../../ledger/x402/access-passes.ts';
import type { PassClaims } from './judge.ts';
import { PASS_ALGORITHM, type PassKeys } from './keys.ts';
import { PASS_TYPE } from './presented.ts';

const MAX_TOKEN_CHARACTERS = 4_096;
/** Disables the check of `exp`: `judgePass` compares it, and an ended pass still identifies its holder. */
const NO_EXPIRY_CHECK = new Date(0);

const claimsSchema = z.object({
  /** Id of the payment. */
  jti: z.string(),
  /** Address of the wallet that paid. */
  sub: z.string(),
  /** Id of the route. */
  aud: z.string(),
  path: z.string(),
  exp: z.number(),
});

/** Signs and verifies the tokens of access passes. `issuer`: the public URL of the gateway. */
export class PassTokens {
  readonly #keys: PassKeys;
  readonly #issuer: string;
  readonly #findKey: ReturnType<typeof createLocalJWKSet>;

  constructor(keys: PassKeys, issuer: string) {
    this.#keys = keys;
    this.#issuer = issuer;
    this.#findKey = createLocalJWKSet(keys.jwks);
  }

  /** A compact JWT. The same pass has the same token until the signing key changes. */
  write({ payment, path, issuedAt, expiresAt }: AccessPass): Promise<string> {
    const { kid, key } = this.#keys.signing;
    return new SignJWT({ path })
      .setProtectedHeader({ alg: PASS_ALGORITHM, typ: PASS_TYPE, kid })
      .setIssuer(this.#issuer)
      .setAudience(payment.route)
      .setSubject(payment.payer)
      .setJti(payment.id)
      .setIssuedAt(Math.floor(issuedAt.getTime() / 1000))
      .setExpirationTime(Math.floor(expiresAt.getTime() / 1000))
      .sign(key);
  }

  /** The claims of a token that one of our keys signed, also after its end; otherwise null. */
  async read(token: string): Promise<PassClaims | null> {
    if (token.length > MAX_TOKEN_CHARACTERS) return null;
    const { data } = claimsSchema.safeParse(await this.#payloadOf(token));
    if (data === undefined) return null;
    const { jti: paymentId, sub: payer, aud: route, path, exp } = data;
    return { paymentId, payer, route, path, expiresAtMs: exp * 1000 };
  }

  async #payloadOf(token: string): Promise<unknown> {
    const checks = { algorithms: [PASS_ALGORITHM], typ: PASS_TYPE, issuer: this.#issuer };
    try {
      return (await jwtVerify(token, this.#findKey, { ...checks, currentDate: NO_EXPIRY_CHECK })).payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }
}
