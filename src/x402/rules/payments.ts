import { messageHashOf } from '../../solana/message.ts';
import type { ExactPayment } from '../terms.ts';
import type { Fees } from './exact-fees.ts';
import type { TransferInstruction } from './transfers.ts';
import type { WireTransaction } from './wire.ts';

/** A payment whose bytes keep the rules. `signature`: of the fee payer, in base58. */
export function paymentOf(
  { signed, message }: WireTransaction,
  asset: string,
  { authority, amount, destination }: TransferInstruction,
  fees: Fees,
  signature: string | null,
): ExactPayment {
  return {
    message: signed.message,
    messageHash: messageHashOf(signed.message),
    payer: authority,
    feePayer: message.feePayer,
    signers: message.signers,
    signature,
    blockhash: message.blockhash,
    asset,
    amount,
    destination,
    ...fees,
  };
}
