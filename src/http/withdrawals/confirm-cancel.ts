import { type Client, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import { DomainError } from '../../domain/errors.ts';
import { withdrawalWorkflowId } from '../../domain/ids.ts';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { isTerminal, PAID_ALREADY } from '../../domain/settlement.ts';
import { definitionOf } from '../../domain/settlement-kinds.ts';
import { CANCELLED } from '../../domain/withdrawal.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { termsOf } from '../../ledger/withdrawals/withdrawals.ts';
import { startWithdrawal } from '../../platform/temporal/starts.ts';
import { cancelWithdrawal, confirmDestination, type SettlementView } from '../../workflows/messages.ts';
import { temporalFault } from '../temporal-errors.ts';

export interface CustomerCommandDeps {
  readonly ledger: Ledger;
  readonly temporal: Client;
}

const UPDATE_DEADLINE_MS = 15_000;

/**
 * Sends the customer's confirmation to the running workflow. Without a running workflow, stores the confirmation and
 * starts the workflow.
 *
 * @throws DomainError NotFound, NotAwaitingConfirmation, Unavailable
 */
export async function confirm(deps: CustomerCommandDeps, id: string): Promise<void> {
  if (await updateUnfinished(deps, id, confirmDestination)) return;
  const row = await deps.ledger.withdrawals.confirmDestination(id);
  if (isTerminal(row.status)) return;
  await startWithdrawal(deps.temporal, termsOf(row));
  await sendUpdate(deps, id, confirmDestination);
}

/**
 * Cancels through the running workflow, or without one in the database. The same compare-and-set decides in both cases.
 *
 * @throws DomainError NotFound, NotCancellable (also if the withdrawal has ended as paid), DatabaseIncomplete, Unavailable
 */
export async function cancel(deps: CustomerCommandDeps, id: string): Promise<void> {
  if (!(await updateUnfinished(deps, id, cancelWithdrawal))) {
    await deps.ledger.settlements.cancel(id, CANCELLED);
    await sendUpdate(deps, id, cancelWithdrawal);
  }
  const { reason } = await deps.ledger.withdrawals.get(id);
  if (reason?.code !== PAID_ALREADY) return;
  throw new DomainError('NotCancellable', `withdrawal ${id} has ended as paid: ${reason.message}`, { id });
}

/**
 * Ends a settlement of any kind that an operator has seen paid on chain. A workflow can be waiting for its customer, so
 * the API sends it an update. The workflows of other kinds read the database again within half a minute.
 *
 * @throws DomainError NotFound, NotCancellable, Unavailable
 */
export async function endAsPaid(deps: CustomerCommandDeps, id: string, note: OperatorNote): Promise<void> {
  const { kind } = await deps.ledger.settlements.endAsPaid(id, note);
  if (definitionOf(kind).hasCustomer === true) await sendUpdate(deps, id, cancelWithdrawal);
}

/** True if the withdrawal is unfinished and its workflow accepted the update. Otherwise the caller must write to the database. */
async function updateUnfinished(
  deps: CustomerCommandDeps,
  id: string,
  update: UpdateDefinition<SettlementView>,
): Promise<boolean> {
  const { status } = await deps.ledger.withdrawals.get(id);
  return isTerminal(status) ? false : sendUpdate(deps, id, update);
}

/**
 * True if a running workflow accepted the update. Callers send it again after a database write, for a workflow that
 * started during the write and read the old row. A repeated update changes nothing.
 */
async function sendUpdate(
  deps: CustomerCommandDeps,
  id: string,
  update: UpdateDefinition<SettlementView>,
): Promise<boolean> {
  const handle = deps.temporal.workflow.getHandle(withdrawalWorkflowId(id));
  try {
    await deps.temporal.withDeadline(Date.now() + UPDATE_DEADLINE_MS, () => handle.executeUpdate(update));
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    const fault = temporalFault(error);
    // The workflow ended before it handled the update.
    if (fault === null && error instanceof WorkflowUpdateFailedError) return false;
    throw fault ?? error;
  }
}
