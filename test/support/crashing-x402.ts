import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { runWorkers } from '../../src/platform/roles/run.ts';
import { type X402WorkerDeps, x402Worker } from '../../src/platform/roles/x402.ts';
import { type Closers, shutdownSignal } from '../../src/platform/shutdown.ts';
import { killAtCrashPoint } from './crash-point.ts';

/** The real x402 worker, which ends at calls of `payments`, `attempts`, `settlements`, `obligations`, `chain` and `workflow`. */
function decorate({ ledger, chain, temporal, latePaymentMs }: X402WorkerDeps): X402WorkerDeps {
  const payments = killAtCrashPoint(ledger.payments, 'payments');
  const attempts = killAtCrashPoint(ledger.attempts, 'attempts');
  const settlements = killAtCrashPoint(ledger.settlements, 'settlements');
  const obligations = killAtCrashPoint(ledger.obligations, 'obligations');
  return {
    ledger: { ...ledger, payments, attempts, settlements, obligations },
    chain: killAtCrashPoint(chain, 'chain'),
    latePaymentMs,
    temporal: Object.create(temporal, {
      workflow: { value: killAtCrashPoint(temporal.workflow, 'workflow') },
    }),
  };
}

const config = readConfigOrExit(process.env, 'x402');
const staff = async (connection: NativeConnection, closers: Closers) => [
  await x402Worker(config, connection, closers, decorate),
];
await runWorkers(config, staff, shutdownSignal());
