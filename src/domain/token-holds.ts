import type { AlertKind } from './alerts.ts';

/**
 * Why a withdrawal is held by its token or by a fault of our own, and the subject of the alert of that name: the asset, where every
 * withdrawal of it may wait for the same, else the withdrawal.
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

/** The reason code of a withdrawal whose hold has an alert of the same name; null for every other code. */
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
