import { DomainError } from '../domain/errors.ts';
import type { SigningTask } from '../domain/steps.ts';
import type { NewAttempt } from '../ledger/settlements/attempts.ts';
import type { SettlementRow } from '../ledger/settlements/settlements.ts';
import type { Kind } from './kind.ts';
import { signerOf } from './signer-of.ts';

/** Signs with a key of this process. Throws SigningRefused. */
export type SignHere = (task: SigningTask) => Promise<{ readonly signature: string }>;

/**
 * Adds the signatures of this process to the attempt, so that it is stored signed, which saves a database transaction.
 * If PostgreSQL refuses the attempt, for example during a pause, the signatures are dropped and no node receives them.
 */
export async function signedHere(
  kind: Pick<Kind, 'tasks'>,
  settlement: SettlementRow,
  attempt: NewAttempt,
  sign: SignHere,
): Promise<NewAttempt> {
  let { signatures = attempt.signers.map(() => null) } = attempt;
  if (!signatures.includes(null)) return attempt;
  const [signature = null] = signatures;
  const tasks = (await kind.tasks?.(settlement, { ...attempt, signatures, signature })) ?? [];
  for (const task of tasks) {
    const { signature: made } = await sign(task);
    const place = attempt.signers.indexOf(signerOf(attempt, made) ?? '');
    if (place < 0) throw new DomainError('SigningRefused', `key ${task.key} is not one of its signers`);
    signatures = signatures.with(place, made);
  }
  return { ...attempt, signatures, isSignedHere: true };
}
