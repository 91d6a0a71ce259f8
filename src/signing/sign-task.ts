import { base58, base64 } from '@scure/base';
import type { SigningTask } from '../domain/steps.ts';
import { maySign, type SigningBounds, type SigningRules, signingRefused } from './checks.ts';
import type { Signer } from './signer.ts';

export interface SigningDeps {
  /** Keys of this process by name, for example `hot`. */
  readonly keys: Readonly<Partial<Record<string, Signer>>>;
  readonly bounds: SigningBounds;
  readonly rules: SigningRules;
}

/**
 * The key that may sign the task, and the bytes to sign. Signs only what the terms and the limits allow.
 * @throws SigningRefused
 */
export function checkTask(
  { keys, bounds, rules }: SigningDeps,
  { kind, key, message, terms }: SigningTask,
): { readonly signer: Signer; readonly bytes: Uint8Array } {
  const [signer, rule] = [keys[key], rules[kind]];
  if (signer === undefined) throw signingRefused(`this signer worker has no key named ${key}`);
  if (rule === undefined)
    throw signingRefused(`this signer worker has no signing rule for settlements of kind ${kind}`);
  if (!maySign(rule, key)) throw signingRefused(`key ${key} is not allowed to sign messages of kind ${kind}`);
  const bytes = base64.decode(message);
  rule.policy(bytes, terms, signer.address, bounds);
  return { signer, bytes };
}

/** Checks and signs a task. Returns the base58 signature. @throws SigningRefused */
export async function signTask(
  deps: SigningDeps,
  task: SigningTask,
): Promise<{ readonly signature: string }> {
  const { signer, bytes } = checkTask(deps, task);
  return { signature: base58.encode(await signer.sign(bytes)) };
}
