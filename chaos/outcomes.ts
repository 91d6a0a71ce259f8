import { WorkflowNotFoundError } from '@temporalio/client';
import pLimit from 'p-limit';
import type { Stack } from '../devkit/localstack/stack.ts';
import type { WithdrawalTerms } from '../src/client/client.ts';
import type { Alarm } from '../src/domain/alerts.ts';
import { withdrawalWorkflowId } from '../src/domain/ids.ts';
import { type Ledger, openLedger } from '../src/ledger/ledger.ts';
import { Closers } from '../src/platform/shutdown.ts';
import { connectTemporal } from '../src/platform/temporal/client.ts';
import type { withdrawal } from '../src/workflows/withdrawal.ts';
import { readMoneyAlerts } from './alerts.ts';
import type { Outcome } from './audit.ts';

const AT_ONCE = 20;

/** The state of each withdrawal in PostgreSQL and Temporal, and all alerts about money. */
export async function readOutcomes(
  stack: Stack,
  all: readonly WithdrawalTerms[],
): Promise<{ readonly outcomes: readonly Outcome[]; readonly alerts: readonly Alarm[] }> {
  const { address, namespace } = stack.temporal;
  const { connection, client } = await connectTemporal({ address, namespace });
  const opened = new Closers();
  opened.add('Temporal connection', () => connection.close());
  const workflow = async (id: string): Promise<string> => {
    const handle = client.workflow.getHandle<typeof withdrawal>(withdrawalWorkflowId(id));
    try {
      const { name } = (await handle.describe()).status;
      return name === 'COMPLETED' ? (await handle.result()).status : name;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'none';
      throw error;
    }
  };
  try {
    const ledger = await openLedger(stack.databaseUrl);
    opened.add('ledger', () => ledger.close());
    const outcomes = await pLimit(AT_ONCE).map(all, async (terms) => ({
      ...(await recordedOutcome(ledger, terms)),
      workflow: await workflow(terms.id),
    }));
    return { outcomes, alerts: await readMoneyAlerts(ledger) };
  } finally {
    await opened.close();
  }
}

async function recordedOutcome(ledger: Ledger, terms: WithdrawalTerms): Promise<Omit<Outcome, 'workflow'>> {
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
