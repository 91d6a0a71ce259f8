import { base58, base64 } from '@scure/base';
import type { NonceUpkeepTask, SigningTask } from '../domain/steps.ts';
import { checkUpkeep } from '../signing/nonce-policy.ts';
import { checkMessage, type SigningBounds } from '../signing/policy.ts';
import type { Signer } from '../signing/signer.ts';
import { beating } from './beating.ts';

export interface SigningDeps {
  readonly signer: Signer;
  readonly bounds: SigningBounds;
}

/** The only activity that touches a key. It reads what it signs, and signs nothing but what is asked for, within its own bounds. */
export function createSignerActivities({ signer, bounds }: SigningDeps) {
  return {
    /** Signs the message, 64 bytes as base58, for which a signer may wait for people. @throws SigningRefused */
    async signTransaction(task: SigningTask): Promise<{ readonly signature: string }> {
      const message = base64.decode(task.message);
      checkMessage(message, { ...task, signer: signer.address }, bounds);
      return { signature: base58.encode(await beating(() => signer.sign(message))) };
    },

    /** Signs the making or the bare advance of a nonce account of its own, 64 bytes as base58. @throws SigningRefused */
    async signUpkeep(task: NonceUpkeepTask): Promise<{ readonly signature: string }> {
      const message = base64.decode(task.message);
      checkUpkeep(message, { ...task, signer: signer.address }, bounds);
      return { signature: base58.encode(await beating(() => signer.sign(message))) };
    },
  };
}

export type SignerActivities = ReturnType<typeof createSignerActivities>;
