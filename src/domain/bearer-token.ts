const BEARER = /^Bearer +([\x21-\x7e]{1,256})$/i;

/** The token of an `Authorization: Bearer` header; null for any other header. Source: RFC 6750 2.1. */
export function bearerToken(authorization: string | undefined): string | null {
  return BEARER.exec(authorization ?? '')?.[1] ?? null;
}
