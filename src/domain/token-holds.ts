import type { AlertKind } from './alerts.ts';

/**
 * Reasons to hold a withdrawal because of its token or a local fault. The value is the subject of the alert with that
 * name: the asset if all its withdrawals can be affected, otherwise the withdrawal's id.
 */
const SUBJECT_FIELD_BY_HOLD = {
  hot_account_frozen: 'asset',
  mint_paused: 'asset',
  default_frozen: 'id',
  account_frozen: 'id',
  confidential_only: 'id',
  mint_changed: 'asset',
  cannot_prepare: 'asset',
  fee_above_bound: 'asset',
} as const satisfies Partial<Record<AlertKind, 'asset' | 'id'>>;

export type TokenHold = keyof typeof SUBJECT_FIELD_BY_HOLD;

/** The reason code, if it has an alert of the same name; otherwise null. */
export function tokenHold(code: string | null): TokenHold | null {
  return code !== null && Object.hasOwn(SUBJECT_FIELD_BY_HOLD, code) ? (code as TokenHold) : null;
}

export function holdSubject(
  hold: TokenHold,
  withdrawal: { readonly id: string; readonly asset: string },
): string {
  return withdrawal[SUBJECT_FIELD_BY_HOLD[hold]];
}
