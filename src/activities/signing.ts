import { base58, base64 } from '@scure/base';
import type { SigningTask } from '../domain/steps.ts';
import { maySign, type SigningBounds, type SigningRules, signingRefused } from '../signing/checks.ts';
import type { Signer } from '../signing/signer.ts';
import { withHeartbeat } from './heartbeat.ts';

export interface SigningDeps {
  /** Keys of this process by name, for example `hot`. */
  readonly keys: Readonly<Partial<Record<string, Signer>>>;
  readonly bounds: SigningBounds;
  readonly rules: SigningRules;
}

/** The only activity that uses a key. It decodes the message and signs only what the terms and the limits allow. */
export function createSignerActivities({ keys, bounds, rules }: SigningDeps) {
  return {
    /** Signs the message and returns the base58 signature. A signer can wait for people. @throws SigningRefused */
    async signTransaction({
      kind,
      key,
      message,
      terms,
    }: SigningTask): Promise<{ readonly signature: string }> {
      const [signer, rule] = [keys[key], rules[kind]];
      if (signer === undefined) throw signingRefused(`this signer worker has no key named ${key}`);
      if (rule === undefined)
        throw signingRefused(`this signer worker has no signing rule for settlements of kind ${kind}`);
      if (!maySign(rule, key))
        throw signingRefused(`key ${key} is not allowed to sign messages of kind ${kind}`);
      const bytes = base64.decode(message);
      rule.policy(bytes, terms, signer.address, bounds);
      return { signature: base58.encode(await withHeartbeat(() => signer.sign(bytes))) };
    },
  };
}

export type SignerActivities = ReturnType<typeof createSignerActivities>;
