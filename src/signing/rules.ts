import { NONCE_ADVANCE, NONCE_CREATE } from '../domain/nonce-settlements.ts';
import { WITHDRAWAL } from '../domain/settlement.ts';
import type { Policy } from './checks.ts';
import { nonceAdvancePolicy, nonceCreatePolicy } from './policy/nonces.ts';
import { withdrawalPolicy } from './policy/withdrawal.ts';

/** The first part of a key's name: `hot`, `fee-payer` of `fee-payer/<address>`, `deposit` of `deposit/<index>`. */
export type KeyRole = 'hot' | 'fee-payer' | 'deposit';

/** What a signer signs for one kind of settlement. */
export interface SigningRule {
  /** Whose keys may sign its messages: no task can ask for another one. */
  readonly roles: readonly KeyRole[];
  readonly policy: Policy;
}

/** The rules of a signer, by kind of settlement: it signs nothing of another kind. */
export type SigningRules = Readonly<Partial<Record<string, SigningRule>>>;

export const SIGNING_RULES: SigningRules = {
  [WITHDRAWAL]: { roles: ['hot'], policy: withdrawalPolicy },
  [NONCE_CREATE]: { roles: ['hot'], policy: nonceCreatePolicy },
  [NONCE_ADVANCE]: { roles: ['hot'], policy: nonceAdvancePolicy },
};

/** True where the rule lets the key of this name sign. */
export function maySign({ roles }: SigningRule, key: string): boolean {
  return roles.some((role) => role === key.split('/')[0]);
}
