import { NONCE_ADVANCE, NONCE_CREATE } from '../domain/nonce-settlements.ts';
import { WITHDRAWAL } from '../domain/settlement.ts';
import type { Policy } from './checks.ts';
import { nonceAdvancePolicy, nonceCreatePolicy } from './policy/nonces.ts';
import { withdrawalPolicy } from './policy/withdrawal.ts';

/** The rules of a signer, by kind of settlement: it signs nothing of another kind. */
export type Policies = Readonly<Partial<Record<string, Policy>>>;

export const POLICIES: Policies = {
  [WITHDRAWAL]: withdrawalPolicy,
  [NONCE_CREATE]: nonceCreatePolicy,
  [NONCE_ADVANCE]: nonceAdvancePolicy,
};
