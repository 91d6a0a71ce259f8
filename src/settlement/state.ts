import { isDomainError } from '../domain/errors.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { SettlementState } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Kind } from './kind.ts';
import { preparationOf } from './prepared-attempt.ts';

/** State that an earlier run left. `attempt` is null if there is none, or if it must not be signed any more. */
export async function standingOf(
  ledger: Ledger,
  settlement: SettlementRow,
  kind: Pick<Kind, 'tasks'> = {},
): Promise<SettlementState> {
  const { id, status, reason } = settlement;
  const attempt = await preparationOf(kind, settlement, await ledger.attempts.of(id));
  // An unsigned attempt is never signed after a dead attempt has paid.
  const goesOn = attempt?.signature !== null || !isPaidByDead(settlement);
  return { status, reason, attempt: goesOn ? attempt : null };
}

/** Holds the settlement with the reason. Its attempts stay unchanged, and so does a settlement that has ended. */
export async function setAside(ledger: Ledger, id: string, reason: StatusReason): Promise<void> {
  try {
    await ledger.settlements.move(id, 'held', reason);
  } catch (error) {
    if (!isDomainError(error, 'IllegalTransition')) throw error;
  }
}
