import { decodeProtectedHeader } from 'jose';

/** The header of an access pass, in requests and responses. */
export const PASS_HEADER = 'sluice-access-pass';
/** The type of an access pass. It separates passes from tokens of the upstream. Source: RFC 8725 3.11. */
export const PASS_TYPE = 'sluice-access-pass+jwt';

/**
 * The access pass of a request, unverified: the header `Sluice-Access-Pass`, or an `Authorization: Bearer` token with the
 * type of a pass. Null if there is none.
 */
export function presentedPass(headers: Readonly<Record<string, unknown>>): string | null {
  const own = headers[PASS_HEADER];
  if (typeof own === 'string') return own;
  return tokensOf(headers['authorization']).find(hasPassType) ?? null;
}

/** True if an `Authorization` header has an access pass, which the upstream must not receive. */
export function hasBearerPass(authorization: unknown): boolean {
  return tokensOf(authorization).some(hasPassType);
}

function tokensOf(authorization: unknown): readonly string[] {
  return typeof authorization === 'string' ? authorization.split(/[\s,]+/) : [];
}

function hasPassType(token: string): boolean {
  try {
    return decodeProtectedHeader(token).typ === PASS_TYPE;
  } catch {
    return false;
  }
}
