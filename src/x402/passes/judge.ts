import type { AccessPass } from '../../ledger/x402/access-passes.ts';

/** What the signature of a pass proves. */
export interface PassClaims {
  readonly paymentId: string;
  readonly payer: string;
  readonly route: string;
  /** Path of the paid request, without its query. */
  readonly path: string;
  readonly expiresAtMs: number;
}

/** Why a pass or a sign-in does not buy. `error` is a code, `details` a sentence for people. */
export interface PassRefusal {
  readonly error: string;
  readonly details: string;
}

export const INVALID_PASS: PassRefusal = {
  error: 'access_pass_invalid',
  details: 'the access pass is not a pass of this server, or its key has been removed',
};

/**
 * Null if the pass buys a request for `path` of `route` now. `stored`: the pass in the database; null if it is unknown.
 * A pass buys only while its payment is on chain, and only what the payment could buy: the same route and path.
 */
export function judgePass(
  claims: PassClaims,
  { route, path }: Pick<PassClaims, 'route' | 'path'>,
  stored: Pick<AccessPass, 'isRevoked' | 'isPaid'> | null,
  nowMs: number,
): PassRefusal | null {
  if (claims.route !== route || claims.path !== path)
    return {
      error: 'access_pass_other_resource',
      details: `the access pass is for ${claims.route}, path ${claims.path}`,
    };
  if (claims.expiresAtMs <= nowMs)
    return { error: 'access_pass_ended', details: 'the access pass has ended' };
  if (stored === null) return INVALID_PASS;
  if (stored.isRevoked)
    return { error: 'access_pass_revoked', details: 'the seller has revoked the access pass' };
  if (!stored.isPaid)
    return {
      error: 'access_pass_unpaid',
      details: 'the payment of the access pass is not on chain, or is below the price',
    };
  return null;
}
