import { writeSync } from 'node:fs';
import { openLedger } from '../../src/ledger/ledger.ts';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { handOver } from '../../src/platform/roles/webhooks.ts';
import { connectTemporal } from '../../src/platform/temporal/client.ts';
import { startWebhookDelivery } from '../../src/platform/temporal/starts.ts';
import { crashLine } from './crash-log-lines.ts';

/** Hands the outbox over, and kills itself with SIGKILL at CRASH_AT: before the workflow is started, or before the start is marked. */
const { databaseUrl, temporalAddress, temporalNamespace } = readConfigOrExit(process.env, 'api');
const at = process.env['CRASH_AT'] ?? '';
const ledger = await openLedger(databaseUrl);
const { client } = await connectTemporal({ address: temporalAddress, namespace: temporalNamespace });
await handOver(ledger.deliveries, async (line) => {
  if (at === 'before start') killProcess();
  await startWebhookDelivery(client, line, { firstRetryMs: 20, longestRetryMs: 50, attempts: 3 });
  if (at === 'before mark') killProcess();
});

function killProcess(): void {
  writeSync(2, `${crashLine(at)}\n`);
  process.kill(process.pid, 'SIGKILL');
}
