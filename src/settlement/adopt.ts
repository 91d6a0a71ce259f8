import { base58, base64 } from '@scure/base';
import { DomainError } from '../domain/errors.ts';
import type { NewAttempt } from '../ledger/attempts.ts';
import { verifySignature } from '../signing/verify.ts';
import type { AdoptedLife } from '../solana/adopted.ts';
import { blockhashOf, messageHashOf } from '../solana/message.ts';
import { readSigned, type SignedTransaction } from '../solana/signed-transaction.ts';
import type { Place } from './kind.ts';

/** What an adopted message costs at most: a kind reads it from the message before it accepts it. */
export type Cost = Pick<
  NewAttempt,
  'computeUnitLimit' | 'computeUnitPriceMicroLamports' | 'feeLamports' | 'rentLamports'
>;

/**
 * The attempt that adopts the transaction of a buyer, wire bytes, with the signatures that are there; 64 zero bytes stand for one that
 * a key of ours is to give. Throws InvalidRequest for bytes that are no transaction of version legacy or 0, and for a signature that is
 * not over its message.
 */
export function adopt(
  settlementId: string,
  { n }: Place,
  wire: Uint8Array,
  life: AdoptedLife,
  cost: Cost,
): NewAttempt {
  const signed = readSigned(wire);
  if (signed === null) throw new DomainError('InvalidRequest', 'the bytes are no transaction');
  const { message, signers } = signed;
  return {
    ...life,
    ...cost,
    settlementId,
    n,
    signers,
    signatures: signaturesOf(signed),
    message: base64.encode(message),
    messageHash: messageHashOf(message),
    blockhash: blockhashOf(message),
    nonceAccount: null,
    bareAdvance: false,
  };
}

function signaturesOf({ message, signers, signatures }: SignedTransaction): (string | null)[] {
  return signatures.map((signature, index) => {
    if (signature.every((byte) => byte === 0)) return null;
    const signer = signers[index] ?? '';
    if (verifySignature(signer, message, signature)) return base58.encode(signature);
    throw new DomainError(
      'InvalidRequest',
      `signature ${index + 1} is not one of ${signer} over the message`,
    );
  });
}
