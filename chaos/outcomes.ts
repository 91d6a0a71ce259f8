import { WorkflowNotFoundError } from '@temporalio/client';
import pLimit from 'p-limit';
import type { WithdrawalTerms } from '../src/client/client.ts';
import { withdrawalWorkflowId } from '../src/domain/ids.ts';
import { type Ledger, openLedger } from '../src/ledger/ledger.ts';
import type { Stack } from '../src/localstack/stack.ts';
import { connectTemporal } from '../src/platform/temporal.ts';
import type { Outcome } from './audit.ts';

const AT_ONCE = 20;

/** What Postgres and Temporal say of each withdrawal, and the base units that are still reserved. */
export async function readOutcomes(
  stack: Stack,
  all: readonly WithdrawalTerms[],
): Promise<{ readonly outcomes: readonly Outcome[]; readonly openReservations: bigint }> {
  const { address, namespace } = stack.temporal;
  const [ledger, { connection, client }] = await Promise.all([
    openLedger(stack.databaseUrl),
    connectTemporal({ address, namespace }),
  ]);
  const workflow = async (id: string): Promise<string> => {
    try {
      return (await client.workflow.getHandle(withdrawalWorkflowId(id)).describe()).status.name;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'none';
      throw error;
    }
  };
  try {
    const outcomes = await pLimit(AT_ONCE).map(all, async (terms) => ({
      ...(await onRecord(ledger, terms)),
      workflow: await workflow(terms.id),
    }));
    return { outcomes, openReservations: await ledger.reservations.total() };
  } finally {
    await Promise.all([ledger.close(), connection.close()]);
  }
}

async function onRecord(ledger: Ledger, terms: WithdrawalTerms): Promise<Omit<Outcome, 'workflow'>> {
  const row = await ledger.withdrawals.find(terms.id);
  const attempts = await ledger.attempts.of(terms.id);
  return {
    terms,
    status: row?.status ?? 'unknown',
    reason: row?.reason?.message ?? null,
    amountReceived: row?.amountReceived?.toString() ?? null,
    signatures: attempts.flatMap(({ signature }) => (signature === null ? [] : [signature])),
  };
}
