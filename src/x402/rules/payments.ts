import { messageHashOf } from '../../solana/tx/message.ts';
import type { ExactPayment } from '../terms.ts';
import type { Fees } from './exact-fees.ts';
import type { TransferInstruction } from './transfers.ts';
import type { WireTransaction } from './wire.ts';

export function paymentOf(
  { signed, message }: WireTransaction,
  asset: string,
  { authority, amount, destination }: Pick<TransferInstruction, 'authority' | 'amount' | 'destination'>,
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
