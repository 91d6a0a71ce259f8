import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { signerOf } from './signer-of.ts';

/** The attempt with this fee payer's signature, or with the signature that was stored first. */
export async function signedAttempt(
  ledger: Ledger,
  id: string,
  n: number,
  signature: string,
): Promise<AttemptRow> {
  const stored = await ledger.attempts.get(id, n);
  if (stored.signature !== null && stored.signature !== signature && !isSigned(stored, signature))
    throw new DomainError('NotFound', `attempt ${id}/${n} on record is ${stored.signature}`, {
      settlementId: id,
      n,
    });
  const attempt = stored.state === 'prepared' ? await storeBytes(ledger, stored, signature) : stored;
  if (attempt.state === 'prepared' && attempt.signature !== null)
    throw new DomainError('IllegalTransition', `attempt ${id}/${n} is not signed by all of its signers`);
  return attempt;
}

async function storeBytes(ledger: Ledger, attempt: AttemptRow, signature: string): Promise<AttemptRow> {
  const { settlementId, n, signers } = attempt;
  if (!isSigned(attempt, signature)) {
    throw new DomainError(
      'SigningRefused',
      `the signature for ${settlementId}/${n} is not one of ${signers[0]}`,
    );
  }
  return ledger.attempts.storeSignature(settlementId, n, signature);
}

/** Accepts any valid signature of the fee payer: it may differ at each signing, and the stored one counts. */
function isSigned(attempt: AttemptRow, signature: string): boolean {
  return signerOf(attempt, signature) === attempt.signers[0];
}
