import type { AlertKind } from './alerts.ts';

/**
 * Why a withdrawal waits for the issuer of its token, and the subject of the alert of that name: the mint, where every withdrawal of
 * the token waits, else the withdrawal.
 */
const TOKEN_HOLDS = {
  hot_account_frozen: 'asset',
  mint_paused: 'asset',
  default_frozen: 'id',
  account_frozen: 'id',
} as const satisfies Partial<Record<AlertKind, 'asset' | 'id'>>;

export type TokenHold = keyof typeof TOKEN_HOLDS;

/** The reason code of a withdrawal that waits for an issuer; null for every other code. */
export function tokenHold(code: string | null): TokenHold | null {
  return code !== null && Object.hasOwn(TOKEN_HOLDS, code) ? (code as TokenHold) : null;
}

/** Which alert of the kind is about this withdrawal. */
export function holdSubject(
  hold: TokenHold,
  withdrawal: { readonly id: string; readonly asset: string },
): string {
  return withdrawal[TOKEN_HOLDS[hold]];
}
