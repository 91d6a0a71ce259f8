import { base64 } from '@scure/base';
import { SOL } from '../domain/deposit-asset.ts';
import type { AttemptRow } from '../ledger/settlements/attempts.ts';
import type { WithdrawalRow } from '../ledger/withdrawals/withdrawals.ts';
import type { Landed } from '../settlement/kind.ts';
import { decodeMessage } from '../solana/tx/message.ts';
import { withheldBy } from '../solana/tx/token-transfer.ts';

/** Amounts paid by a landed withdrawal. The chain fails a transfer whose declared fee differs from the withheld. */
export function received({ asset, amount }: WithdrawalRow, { message }: AttemptRow): Landed {
  return {
    movedLamports: asset === SOL ? amount : 0n,
    amountReceived: amount - withheldBy(decodeMessage(base64.decode(message))),
  };
}
