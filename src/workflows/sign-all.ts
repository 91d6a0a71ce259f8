import type { SigningTask } from '../domain/steps.ts';

/** How signatures are made and kept. */
export interface Signing {
  /** Null where no signature will come. */
  readonly sign: (task: SigningTask) => Promise<string | null>;
  /** Stores a signature of another signer than the fee payer. */
  readonly store: (signature: string) => Promise<unknown>;
}

/**
 * The signature of the fee payer, `signature` where it is there already. Asks for each signature of `tasks`, the fee payer's last where it is
 * among them, and stores all others. Null where one of them will not come, or another signer is to give that of the fee payer.
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
