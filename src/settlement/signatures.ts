import { base58, base64 } from '@scure/base';
import { DomainError } from '../domain/errors.ts';
import type { SigningTask } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow, NewAttempt } from '../ledger/settlements/attempts.ts';
import { verifySignature } from '../signing/ed25519.ts';
import type { SignableAttempt } from './kind.ts';

/** Returns the attempt with this signature of the fee payer, or with the signature that was stored first. */
export async function signedAttempt(
  ledger: Ledger,
  id: string,
  n: number,
  signature: string,
): Promise<AttemptRow> {
  const stored = await ledger.attempts.get(id, n);
  if (stored.signature !== null && stored.signature !== signature && !isByFeePayer(stored, signature))
    throw new DomainError(
      'NotFound',
      `attempt ${id}/${n} has signature ${stored.signature} in the database, not ${signature}`,
      {
        settlementId: id,
        n,
      },
    );
  const attempt = stored.state === 'prepared' ? await storeValidSignature(ledger, stored, signature) : stored;
  if (attempt.state === 'prepared' && attempt.signature !== null)
    throw new DomainError('IllegalTransition', `attempt ${id}/${n} is not signed by all of its signers`);
  return attempt;
}

async function storeValidSignature(
  ledger: Ledger,
  attempt: AttemptRow,
  signature: string,
): Promise<AttemptRow> {
  const { settlementId, n, signers } = attempt;
  if (!isByFeePayer(attempt, signature)) {
    throw new DomainError(
      'SigningRefused',
      `the signature for attempt ${settlementId}/${n} is not a valid signature by ${signers[0]}`,
    );
  }
  return ledger.attempts.storeSignature(settlementId, n, signature);
}

/**
 * True for any valid signature of the fee payer: each signing can return a different one, and the stored one counts.
 */
function isByFeePayer(attempt: AttemptRow, signature: string): boolean {
  return signerOf(attempt, signature) === attempt.signers[0];
}

/** The signer of the attempt that gave this base58 signature, or undefined. */
export function signerOf(
  { message, signers }: Pick<AttemptRow, 'message' | 'signers'>,
  signature: string,
): string | undefined {
  const [bytes, signed] = [base64.decode(message), base58.decode(signature)];
  return signers.find((signer) => verifySignature(signer, bytes, signed));
}

/** Signs with a key of this process. Throws SigningRefused. */
export type SignHere = (task: SigningTask) => Promise<{ readonly signature: string }>;

/** The signing tasks of an attempt that is not stored yet, for our missing signatures. */
type TasksOf = (attempt: SignableAttempt) => Promise<readonly SigningTask[]>;

/**
 * Adds the signatures of this process to the attempt, so that it is stored signed, which saves a database transaction.
 * If PostgreSQL refuses the attempt, for example during a pause, the signatures are dropped and no node receives them.
 */
export async function signLocally(
  tasksOf: TasksOf,
  attempt: NewAttempt,
  sign: SignHere,
): Promise<NewAttempt> {
  let { signatures = attempt.signers.map(() => null) } = attempt;
  if (!signatures.includes(null)) return attempt;
  const [signature = null] = signatures;
  for (const task of await tasksOf({ ...attempt, signatures, signature })) {
    const { signature: localSignature } = await sign(task);
    const signerIndex = attempt.signers.indexOf(signerOf(attempt, localSignature) ?? '');
    if (signerIndex < 0)
      throw new DomainError(
        'SigningRefused',
        `key ${task.key} is not a signer of attempt ${attempt.settlementId}/${attempt.n}`,
      );
    signatures = signatures.with(signerIndex, localSignature);
  }
  return { ...attempt, signatures, isSignedHere: true };
}
