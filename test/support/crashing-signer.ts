import { type NativeConnection, Worker } from '@temporalio/worker';
import { createSignerActivities } from '../../src/activities/signing.ts';
import { SIGNER_TASK_QUEUE } from '../../src/domain/ids.ts';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { shutdownSignal } from '../../src/platform/shutdown.ts';
import { loadKeypair } from '../../src/signing/signer.ts';
import { runWorkers } from '../../src/worker.ts';
import { deadly } from './crash-point.ts';

/** The signer's activities with a deadly key: `signer.sign`. */
const config = readConfigOrExit(process.env, 'signer');
const signer = deadly(await loadKeypair(config.signerKeyFile ?? ''), 'signer');
const bounds = { priceCapMicroLamports: config.priorityCapMicroLamports, allowHookAccounts: false };
const staff = async (connection: NativeConnection) => [
  await Worker.create({
    connection,
    namespace: config.temporalNamespace,
    taskQueue: SIGNER_TASK_QUEUE,
    activities: createSignerActivities({ signer, bounds }),
  }),
];
await runWorkers(config, staff, shutdownSignal().signal);
