import { base58, base64 } from '@scure/base';
import { Context } from '@temporalio/activity';
import type { NonceUpkeepTask, SigningTask } from '../domain/steps.ts';
import { checkUpkeep } from '../signing/nonce-policy.ts';
import { checkMessage, type SigningBounds } from '../signing/policy.ts';
import type { Signer } from '../signing/signer.ts';

export interface SigningDeps {
  readonly signer: Signer;
  readonly bounds: SigningBounds;
}

/** The only activity that touches a key. It reads what it signs, and signs nothing but what is asked for, within its own bounds. */
export function createSignerActivities({ signer, bounds }: SigningDeps) {
  return {
    /** Signs the message, 64 bytes as base58. @throws SigningRefused */
    async signTransaction(task: SigningTask): Promise<{ readonly signature: string }> {
      const message = base64.decode(task.message);
      checkMessage(message, { ...task, signer: signer.address }, bounds);
      return { signature: base58.encode(await beating(signer.sign(message))) };
    },

    /** Signs the making or the bare advance of a nonce account of its own, 64 bytes as base58. @throws SigningRefused */
    async signUpkeep(task: NonceUpkeepTask): Promise<{ readonly signature: string }> {
      const message = base64.decode(task.message);
      checkUpkeep(message, { ...task, signer: signer.address }, bounds);
      return { signature: base58.encode(await beating(signer.sign(message))) };
    },
  };
}

const BEAT_MS = 3_000;

/** A signer may wait for people: as long as its process lives, nobody else is asked. */
async function beating<T>(work: Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), BEAT_MS);
  return work.finally(() => clearInterval(timer));
}

export type SignerActivities = ReturnType<typeof createSignerActivities>;
