import type { AlertKind } from './alerts.ts';

/**
 * Reasons to hold a withdrawal for its token or a fault of our own, and the subject of the alert with that name:
 * the asset if every withdrawal of it may be affected, otherwise the withdrawal.
 */
const TOKEN_HOLDS = {
  hot_account_frozen: 'asset',
  mint_paused: 'asset',
  default_frozen: 'id',
  account_frozen: 'id',
  confidential_only: 'id',
  mint_changed: 'asset',
  cannot_prepare: 'asset',
  fee_above_bound: 'asset',
} as const satisfies Partial<Record<AlertKind, 'asset' | 'id'>>;

export type TokenHold = keyof typeof TOKEN_HOLDS;

/** The code if an alert of the same name exists for it, otherwise null. */
export function tokenHold(code: string | null): TokenHold | null {
  return code !== null && Object.hasOwn(TOKEN_HOLDS, code) ? (code as TokenHold) : null;
}

export function holdSubject(
  hold: TokenHold,
  withdrawal: { readonly id: string; readonly asset: string },
): string {
  return withdrawal[TOKEN_HOLDS[hold]];
}
