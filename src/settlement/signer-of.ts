import { base58, base64 } from '@scure/base';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import { verifySignature } from '../signing/verify.ts';

/** The signer of the attempt whose signature (base58) this is, or undefined. */
export function signerOf(
  { message, signers }: Pick<AttemptRow, 'message' | 'signers'>,
  signature: string,
): string | undefined {
  const [bytes, signed] = [base64.decode(message), base58.decode(signature)];
  return signers.find((signer) => verifySignature(signer, bytes, signed));
}
