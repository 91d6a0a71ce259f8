import { PublicKey, type AccountInfo as Web3Account } from '@solana/web3.js';
import type { AccountInfo } from '../rpc/schemas.ts';

/** Runs a reader of spl-token on an account of a token program; null if it throws. */
export function unpack<T>(
  read: (address: PublicKey, account: Web3Account<Buffer>, program: PublicKey) => T,
  address: string,
  { owner, data, executable }: AccountInfo,
): T | null {
  const program = new PublicKey(owner);
  try {
    return read(
      new PublicKey(address),
      { lamports: 0, owner: program, data: Buffer.from(data), executable },
      program,
    );
  } catch {
    return null;
  }
}
