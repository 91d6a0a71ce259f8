import { readdirSync, readFileSync } from 'node:fs';
import proto from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { testWorkflows, type WorkflowBundleFile } from '../support/workflows.ts';

const HISTORIES = new URL('../histories/', import.meta.url);
const files = readdirSync(HISTORIES).filter((file) => file.endsWith('.bin'));
const OF_SETTLEMENTS = ['confirmed-by-customer.bin', 'held.bin', 'settlement.bin', 'x402-settlement.bin'];
let workflowBundle: WorkflowBundleFile;

beforeAll(async () => {
  workflowBundle = await testWorkflows();
});

function saved(file: string) {
  return proto.temporal.api.history.v1.History.decode(readFileSync(new URL(file, HISTORIES)));
}

async function replay(file: string, history: ReturnType<typeof saved>): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle }, history, `withdrawal/${file.replace('.bin', '')}`);
}

/** Saved by `test/histories/record.ts`: runs that are open in production must replay with the current code. */
describe('a saved history', () => {
  it('exists for each kind of run', () => {
    expect(files).toEqual([
      'backfill-address.bin',
      'backfill-blocks.bin',
      'cancelled.bin',
      'confirmed-by-customer.bin',
      'continued.bin',
      'deposit-scan.bin',
      'failed-attempt.bin',
      'failed.bin',
      'finalized.bin',
      'held.bin',
      'reconciliation.bin',
      'rejected.bin',
      'second-attempt.bin',
      'settlement.bin',
      'token.bin',
      'waited-for-funds.bin',
      'webhook.bin',
      'x402-settlement.bin',
    ]);
  });

  it.each(files)('%s replays', async (file) => {
    await replay(file, saved(file));
  });

  it.each(OF_SETTLEMENTS)(
    '%s replays as a history that was long before workers continued such runs as new',
    async (file) => {
      const history = saved(file);
      for (const { workflowTaskStartedEventAttributes: started } of history.events)
        if (started) started.suggestContinueAsNew = true;
      await replay(file, history);
    },
  );
});
