import { NONCE_ADVANCE, NONCE_CREATE } from '../domain/nonce-settlements.ts';
import { WITHDRAWAL } from '../domain/settlement.ts';
import type { Policy } from './checks.ts';
import { nonceAdvancePolicy, nonceCreatePolicy } from './policy/nonces.ts';
import { withdrawalPolicy } from './policy/withdrawal.ts';

/** The first part of a key's name: `hot`, `fee-payer` of `fee-payer/<address>`, `deposit` of `deposit/<index>`. */
export type KeyRole = 'hot' | 'fee-payer' | 'deposit';

/** Which keys sign settlements of one kind, and the policy that each message must pass. */
export interface SigningRule {
  /** Roles of the keys that may sign these messages: a task cannot request a key of another role. */
  readonly roles: readonly KeyRole[];
  readonly policy: Policy;
}

/** Signing rules by settlement kind. The signer refuses a kind without a rule. */
export type SigningRules = Readonly<Partial<Record<string, SigningRule>>>;

export const SIGNING_RULES: SigningRules = {
  [WITHDRAWAL]: { roles: ['hot'], policy: withdrawalPolicy },
  [NONCE_CREATE]: { roles: ['hot'], policy: nonceCreatePolicy },
  [NONCE_ADVANCE]: { roles: ['hot'], policy: nonceAdvancePolicy },
};

export function maySign({ roles }: SigningRule, key: string): boolean {
  return roles.some((role) => role === key.split('/')[0]);
}
