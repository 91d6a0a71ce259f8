import type { DecodedInstruction, DecodedMessage } from './message.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs.ts';

/** Data of a checked token transfer, in base units. `expectedFee` is null if the instruction declares no fee. */
export interface TokenTransferData {
  readonly amount: bigint;
  readonly decimals: number;
  readonly expectedFee: bigint | null;
}

/** Reads TransferChecked (12) or Token-2022's TransferCheckedWithFee (26, 1). Null for any other instruction. */
export function readTokenTransfer({ program, data }: DecodedInstruction): TokenTransferData | null {
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data[0] === 12 && data.length === 10) {
    return { amount: view.getBigUint64(1, true), decimals: view.getUint8(9), expectedFee: null };
  }
  if (program === TOKEN_2022_PROGRAM && data[0] === 26 && data[1] === 1 && data.length === 19) {
    const expectedFee = view.getBigUint64(11, true);
    return { amount: view.getBigUint64(2, true), decimals: view.getUint8(10), expectedFee };
  }
  return null;
}

/** Base units that the token program withholds at the destination. With any other fee, the transfer fails. */
export function withheldAmount(message: DecodedMessage): bigint {
  const last = message.instructions.at(-1);
  return (last === undefined ? null : readTokenTransfer(last))?.expectedFee ?? 0n;
}
