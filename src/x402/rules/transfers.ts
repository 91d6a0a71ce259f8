import type { DecodedInstruction, DecodedMessage } from '../../solana/tx/message.ts';
import { isTokenProgram } from '../../solana/tx/programs.ts';

/** A decoded token transfer. Plain Transfer contains neither mint nor decimals. */
export interface TransferInstruction {
  readonly source: string;
  readonly mint: string | null;
  readonly destination: string;
  readonly authority: string;
  readonly amount: bigint;
  readonly decimals: number | null;
}

const TRANSFER = 3;
const TRANSFER_CHECKED = 12;

/** Decodes Transfer (3) or TransferChecked (12), otherwise null. Token programs ignore trailing bytes. */
export function readTransfer({ program, accounts, data }: DecodedInstruction): TransferInstruction | null {
  if (!isTokenProgram(program)) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const addresses = accounts.map((account) => account.address);
  if (data[0] === TRANSFER && data.length >= 9) {
    const [source, destination, authority] = addresses;
    if (source === undefined || destination === undefined || authority === undefined) return null;
    return { source, mint: null, destination, authority, amount: view.getBigUint64(1, true), decimals: null };
  }
  if (data[0] === TRANSFER_CHECKED && data.length >= 10) {
    const [source, mint, destination, authority] = addresses;
    if (source === undefined || mint === undefined) return null;
    if (destination === undefined || authority === undefined) return null;
    const amount = view.getBigUint64(1, true);
    return { source, mint, destination, authority, amount, decimals: view.getUint8(9) };
  }
  return null;
}

/** The authority of the first token transfer of a message; null without one. */
export function payerOf({ instructions }: DecodedMessage): string | null {
  for (const instruction of instructions) {
    const transfer = readTransfer(instruction);
    if (transfer !== null) return transfer.authority;
  }
  return null;
}
