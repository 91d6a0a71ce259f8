import { SOL } from '../../domain/deposit-asset.ts';
import type { DecodedMessage } from './message.ts';
import { ATA_PROGRAM } from './programs.ts';
import { readTokenTransfer } from './token-transfer.ts';

/**
 * The account that a payment of ours debits, if its bytes alone give the amount once it has landed. Null for an asset
 * that it does not move. Null also for SOL if it creates a token account, because that account may exist already.
 */
export function sourceOf({ feePayer, instructions }: DecodedMessage, asset: string): string | null {
  if (asset === SOL) return instructions.some(({ program }) => program === ATA_PROGRAM) ? null : feePayer;
  const transfer = instructions.at(-1);
  if (transfer === undefined || readTokenTransfer(transfer) === null) return null;
  const [source, mint] = transfer.accounts;
  return mint?.address === asset ? (source?.address ?? null) : null;
}
