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

/** The only activity that uses a key. It reads the message, and signs only what the terms and its limits allow. */
export function createSignerActivities({ keys, bounds, rules }: SigningDeps) {
  return {
    /** Signs the message and returns 64 bytes as base58. A signer may wait for people. @throws SigningRefused */
    async signTransaction({
      kind,
      key,
      message,
      terms,
    }: SigningTask): Promise<{ readonly signature: string }> {
      const [signer, rule] = [keys[key], rules[kind]];
      if (signer === undefined) throw signingRefused(`this signer has no key ${key}`);
      if (rule === undefined) throw signingRefused(`there is no rule for a message of kind ${kind}`);
      if (!maySign(rule, key)) throw signingRefused(`key ${key} signs no message of kind ${kind}`);
      const bytes = base64.decode(message);
      rule.policy(bytes, terms, signer.address, bounds);
      return { signature: base58.encode(await withHeartbeat(() => signer.sign(bytes))) };
    },
  };
}

export type SignerActivities = ReturnType<typeof createSignerActivities>;
