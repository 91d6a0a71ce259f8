import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { runWorkers } from '../../src/platform/roles/run.ts';
import { signerWorker } from '../../src/platform/roles/signer.ts';
import { shutdownSignal } from '../../src/platform/shutdown.ts';
import { killAtCrashPoint } from './crash-point.ts';

/** The real signer, whose key can kill it at `signer.sign`. */
const config = readConfigOrExit(process.env, 'signer');
const staff = async (connection: NativeConnection) => [
  await signerWorker(config, connection, (signer) => killAtCrashPoint(signer, 'signer')),
];
await runWorkers(config, staff, shutdownSignal());
