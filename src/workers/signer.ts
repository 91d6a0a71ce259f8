import { type NativeConnection, Worker } from '@temporalio/worker';
import { createSignerActivities } from '../activities/signing.ts';
import { SIGNER_TASK_QUEUE } from '../domain/ids.ts';
import { allowsHooks } from '../domain/token-rules.ts';
import type { Config } from '../platform/config.ts';
import type { SigningBounds } from '../signing/checks.ts';
import { loadKeypair, type Signer } from '../signing/signer.ts';
import { workerOptions } from './run.ts';

/** The only worker with keys; it needs no chain and no database. `decorate` wraps the key. */
export async function signerWorker(
  config: Config<'signer'>,
  connection: NativeConnection,
  decorate: (signer: Signer) => Signer = (signer) => signer,
): Promise<Worker> {
  const signer = decorate(await loadKeypair(config.keypair));
  return Worker.create({
    ...workerOptions(config, connection, SIGNER_TASK_QUEUE),
    activities: createSignerActivities({ keys: { hot: signer }, bounds: signingBounds(config) }),
  });
}

/** What the signer grants by the settings of this process; a chain worker composes nothing that its own would refuse. */
export function signingBounds({ priorityCapMicroLamports, tokenPolicy }: Config): SigningBounds {
  return {
    priceCapMicroLamports: priorityCapMicroLamports,
    allowHookAccounts: allowsHooks(tokenPolicy),
  };
}
