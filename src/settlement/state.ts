import { isDomainError } from '../domain/errors.ts';
import { isPaidByDead, type StatusReason } from '../domain/settlement.ts';
import type { Standing } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Kind } from './kind.ts';
import { preparationOf } from './prepared-attempt.ts';

/** Where an earlier run left the settlement: the attempt to go on with, null where there is none or nobody may sign it any more. */
export async function standingOf(
  ledger: Ledger,
  settlement: SettlementRow,
  kind: Pick<Kind, 'tasks'> = {},
): Promise<Standing> {
  const { id, status, reason } = settlement;
  const attempt = await preparationOf(kind, settlement, await ledger.attempts.of(id));
  // What is not signed yet never is where a dead attempt has paid.
  const goesOn = attempt?.signature !== null || !isPaidByDead(settlement);
  return { status, reason, attempt: goesOn ? attempt : null };
}

/** Sets the settlement aside with the reason; what is signed or prepared stays as it is, and so does an end that came first. */
export async function setAside(ledger: Ledger, id: string, reason: StatusReason): Promise<void> {
  try {
    await ledger.settlements.move(id, 'held', reason);
  } catch (error) {
    if (!isDomainError(error, 'IllegalTransition')) throw error;
  }
}
