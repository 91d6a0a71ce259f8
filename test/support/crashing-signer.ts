import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { runWorkers } from '../../src/platform/roles/run.ts';
import { signerWorker } from '../../src/platform/roles/signer.ts';
import { shutdownSignal } from '../../src/platform/shutdown.ts';
import { deadly } from './crash-point.ts';

/** The real signer, whose key can kill it at `signer.sign`. */
const config = readConfigOrExit(process.env, 'signer');
const staff = async (connection: NativeConnection) => [
  await signerWorker(config, connection, (signer) => deadly(signer, 'signer')),
];
await runWorkers(config, staff, shutdownSignal());
