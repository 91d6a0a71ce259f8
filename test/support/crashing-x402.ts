import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import type { ChainWorkerDeps } from '../../src/platform/roles/chain.ts';
import { runWorkers } from '../../src/platform/roles/run.ts';
import { x402Worker } from '../../src/platform/roles/x402.ts';
import { type Closers, shutdownSignal } from '../../src/platform/shutdown.ts';
import { killAtCrashPoint } from './crash-point.ts';

/** The real x402 worker, which ends at calls of `attempts`, `settlements`, `obligations` and `chain`. */
function decorate({ ledger, chain }: ChainWorkerDeps): ChainWorkerDeps {
  const attempts = killAtCrashPoint(ledger.attempts, 'attempts');
  const settlements = killAtCrashPoint(ledger.settlements, 'settlements');
  const obligations = killAtCrashPoint(ledger.obligations, 'obligations');
  return {
    ledger: { ...ledger, attempts, settlements, obligations },
    chain: killAtCrashPoint(chain, 'chain'),
  };
}

const config = readConfigOrExit(process.env, 'x402');
const staff = async (connection: NativeConnection, closers: Closers) => [
  await x402Worker(config, connection, closers, decorate),
];
await runWorkers(config, staff, shutdownSignal());
