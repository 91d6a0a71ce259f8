import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { type Closers, shutdownSignal } from '../../src/platform/shutdown.ts';
import { type ChainRooms, chainWorkers } from '../../src/workers/chain.ts';
import { runWorkers } from '../../src/workers/run.ts';
import { deadly } from './crash-point.ts';

/** The real chain worker with deadly rooms: `withdrawals`, `attempts`, `chain`. */
function decorate({ ledger, chain }: ChainRooms): ChainRooms {
  const withdrawals = deadly(ledger.withdrawals, 'withdrawals');
  const attempts = deadly(ledger.attempts, 'attempts');
  return { ledger: { ...ledger, withdrawals, attempts }, chain: deadly(chain, 'chain') };
}

const config = readConfigOrExit(process.env, 'chain');
const staff = async (connection: NativeConnection, closers: Closers, stop: AbortSignal) =>
  chainWorkers(config, connection, closers, stop, decorate);
await runWorkers(config, staff, shutdownSignal().signal);
