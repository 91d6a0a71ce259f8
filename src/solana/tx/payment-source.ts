import { SOL } from '../../domain/deposit-asset.ts';
import type { DecodedMessage } from './message.ts';
import { ATA_PROGRAM } from './programs.ts';
import { readTokenTransfer } from './token-transfer.ts';

/**
 * The account out of which a payment of ours takes what was planned of an asset, where its bytes alone say how much that is once it has
 * landed. Null for an asset that it does not move; and for SOL where it makes a token account, which somebody else may have made before.
 */
export function sourceOf({ feePayer, instructions }: DecodedMessage, asset: string): string | null {
  if (asset === SOL) return instructions.some(({ program }) => program === ATA_PROGRAM) ? null : feePayer;
  const transfer = instructions.at(-1);
  if (transfer === undefined || readTokenTransfer(transfer) === null) return null;
  const [source, mint] = transfer.accounts;
  return mint?.address === asset ? (source?.address ?? null) : null;
}
