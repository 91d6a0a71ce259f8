import { base64 } from '@scure/base';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import type { UnsignedAttempt } from '../solana/proof/investigate-unsigned.ts';
import type { UnsignedNonceAttempt } from '../solana/proof/investigate-unsigned-nonce.ts';
import { messageHashOf } from '../solana/tx/message.ts';

/**
 * An attempt in the form that is searched by message, under any signature. Null for a durable nonce. Null also if the
 * message does not match its hash: such a row proves nothing about the signed message, so an operator must check it.
 */
export function unsignedAttemptOf({
  signers,
  message,
  messageHash,
  ...life
}: AttemptRow): UnsignedAttempt | null {
  const { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, adoptedFrom } = life;
  const [wallet] = signers;
  if (wallet === undefined || blockhashHeight === null || lastValidBlockHeight === null) return null;
  if (messageHashOf(base64.decode(message)) !== messageHash) return null;
  return {
    blockhash,
    blockhashSlot,
    blockhashHeight,
    lastValidBlockHeight,
    adoptedFrom,
    messageHash,
    wallet,
  };
}

/** The same for a durable nonce; null for a blockhash. */
export function unsignedNonceAttemptOf({
  message,
  messageHash,
  nonceAccount,
  blockhash: nonce,
  blockhashSlot: nonceSlot,
}: AttemptRow): UnsignedNonceAttempt | null {
  if (nonceAccount === null || messageHashOf(base64.decode(message)) !== messageHash) return null;
  return { nonceAccount, nonce, nonceSlot, messageHash };
}
