import type { Client } from '@temporalio/client';
import { landingReport } from '../../src/workflows/messages.ts';
import { until } from '../support/until.ts';

const LONG = 40;
/** Dynamic config of a Temporal server: a run of 40 events is to continue as new. A run that is paid at its first attempt has fewer. */
export const LONG_FROM_40 = { 'limit.historyCount.suggestContinueAsNew': String(LONG) };

/**
 * Sends a run the reports of a landing that changes again and again, until the next run has its workflow id. Returns the id of the
 * ended run.
 */
export async function flapUntilContinued(client: Client, workflowId: string): Promise<string> {
  const run = client.workflow.getHandle(workflowId);
  const { runId } = await run.describe();
  const reason = { code: 'nodes_silent', message: 'no node answers' };
  for (let n = 0; n < LONG; n += 1)
    await run.signal(landingReport, {
      n: 1,
      ...(n % 2 === 0 ? { status: 'held', reason } : { status: 'sending', reason: null }),
    });
  await until(async () => (await run.describe()).runId !== runId);
  return runId;
}
