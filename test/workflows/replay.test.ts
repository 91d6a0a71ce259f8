import { readdirSync, readFileSync } from 'node:fs';
import proto from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, it } from 'vitest';
import { testWorkflows, type WorkflowBundleFile } from '../support/workflows.ts';

const HISTORIES = new URL('../histories/', import.meta.url);
const files = readdirSync(HISTORIES).filter((file) => file.endsWith('.bin'));
let workflowBundle: WorkflowBundleFile;

beforeAll(async () => {
  workflowBundle = await testWorkflows();
});

/** Saved by `test/histories/record.ts`: runs that are open in production must replay with the code of today. */
describe('a saved history', () => {
  it('exists for each kind of run', () => {
    expect(files).toEqual([
      'address-audit.bin',
      'cancelled.bin',
      'confirmed-by-customer.bin',
      'deposit-rescan.bin',
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
    ]);
  });

  it.each(files)('%s replays', async (file) => {
    const history = proto.temporal.api.history.v1.History.decode(readFileSync(new URL(file, HISTORIES)));
    await Worker.runReplayHistory({ workflowBundle }, history, `withdrawal/${file.replace('.bin', '')}`);
  });
});
