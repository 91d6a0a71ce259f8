import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { type ChainWorkerDeps, chainWorkers } from '../../src/platform/roles/chain.ts';
import { runWorkers } from '../../src/platform/roles/run.ts';
import { type Closers, shutdownSignal } from '../../src/platform/shutdown.ts';
import { killAtCrashPoint } from './crash-point.ts';
import { failAtPoints } from './failing-steps.ts';

const wrap = process.env['STEPS_FAIL'] === undefined ? killAtCrashPoint : failAtPoints;

/** The real chain worker, which ends or fails at calls of `withdrawals`, `settlements`, `attempts` and `chain`. */
function decorate({ ledger, chain }: ChainWorkerDeps): ChainWorkerDeps {
  const withdrawals = wrap(ledger.withdrawals, 'withdrawals');
  const settlements = wrap(ledger.settlements, 'settlements');
  const attempts = wrap(ledger.attempts, 'attempts');
  return { ledger: { ...ledger, withdrawals, settlements, attempts }, chain: wrap(chain, 'chain') };
}

const config = readConfigOrExit(process.env, 'chain');
const staff = async (connection: NativeConnection, closers: Closers, stop: AbortSignal) =>
  chainWorkers(config, connection, closers, stop, decorate);
await runWorkers(config, staff, shutdownSignal());
