import type { SigningTask } from '../domain/steps.ts';

export interface Signing {
  /** Null if no signature will come. */
  readonly sign: (task: SigningTask) => Promise<string | null>;
  /** Stores the signature of a signer other than the fee payer. */
  readonly store: (signature: string) => Promise<unknown>;
}

/**
 * Returns the fee payer's signature; `signature` if it exists already. Runs all `tasks`, the fee payer's last, and
 * stores the other signatures. Null if a signature will not come, or if another signer provides the fee payer's.
 */
export async function signAll(
  signature: string | null,
  tasks: readonly SigningTask[],
  { sign, store }: Signing,
): Promise<string | null> {
  const last = signature === null ? tasks.at(-1) : undefined;
  for (const task of last === undefined ? tasks : tasks.slice(0, -1)) {
    const other = await sign(task);
    if (other === null) return null;
    await store(other);
  }
  return last === undefined ? signature : sign(last);
}
