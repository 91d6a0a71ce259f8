import { base58 } from '@scure/base';
import type { SigningTask } from '../domain/steps.ts';
import { checkTask, type SigningDeps } from '../signing/sign-task.ts';
import { withHeartbeat } from './heartbeat.ts';

/** The only activity that uses a key. It decodes the message and signs only what the terms and the limits allow. */
export function createSignerActivities(deps: SigningDeps) {
  return {
    /** Signs the message and returns the base58 signature. A signer can wait for people. @throws SigningRefused */
    async signTransaction(task: SigningTask): Promise<{ readonly signature: string }> {
      const { signer, bytes } = checkTask(deps, task);
      return { signature: base58.encode(await withHeartbeat(() => signer.sign(bytes))) };
    },
  };
}

export type SignerActivities = ReturnType<typeof createSignerActivities>;
