import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import { readConfigOrExit } from '../../src/platform/config.ts';
import { runWorkers } from '../../src/platform/roles/run.ts';
import { signerWorker } from '../../src/platform/roles/signer.ts';
import { shutdownSignal } from '../../src/platform/shutdown.ts';
import type { Signer } from '../../src/signing/signer.ts';

/** The real signer with a key that answers after SLOW_MS. */
const config = readConfigOrExit(process.env, 'signer');
const delay = Number(process.env['SLOW_MS']);
const withDelay = (signer: Signer): Signer => ({
  address: signer.address,
  sign: async (message) => {
    await sleep(delay);
    return signer.sign(message);
  },
});
const staff = async (connection: NativeConnection) => [await signerWorker(config, connection, withDelay)];
await runWorkers(config, staff, shutdownSignal());
