import { buildApp } from '../../src/http/app.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { connectTemporal } from '../../src/platform/temporal/client.ts';
import { killAtCrashPoint } from './crash-point.ts';

/** The real API whose services can kill it: `withdrawals`, `settlements` and `attempts` of the ledger, `workflow` of the Temporal client. It ends only at its crash point. */
const { databaseUrl, temporalAddress, temporalNamespace, ...settings } = readConfigOrExit(process.env, 'api');
const ledger = await openLedger(databaseUrl);
const { client } = await connectTemporal({ address: temporalAddress, namespace: temporalNamespace });
const temporal = Object.create(client, {
  workflow: { value: killAtCrashPoint(client.workflow, 'workflow') },
});
const app = await buildApp({
  ledger: {
    ...ledger,
    withdrawals: killAtCrashPoint(ledger.withdrawals, 'withdrawals'),
    settlements: killAtCrashPoint(ledger.settlements, 'settlements'),
    attempts: killAtCrashPoint(ledger.attempts, 'attempts'),
  },
  temporal,
  explorer: { explorerUrl: settings.explorerUrl, cluster: settings.cluster, rpcUrls: settings.rpcUrls ?? [] },
});
await app.listen({ host: settings.httpHost, port: settings.httpPort });
