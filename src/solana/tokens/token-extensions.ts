import { PublicKey, type AccountInfo as Web3Account } from '@solana/web3.js';
import { ExtensionType } from '../../shims/spl-token.ts';
import type { AccountInfo } from '../rpc/schemas.ts';

/** The types that spl-token does not name. */
const UNNAMED: Readonly<Record<number, string>> = {
  16: 'confidentialTransferFeeConfig',
  17: 'confidentialTransferFeeAmount',
  24: 'confidentialMintBurn',
};

/** `transferFeeConfig` for type 1; `unknown:<type>` for a type that this build does not know. */
export function extensionName(type: number): string {
  const name: string | undefined = UNNAMED[type] ?? ExtensionType[type];
  return name === undefined ? `unknown:${type}` : `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
}

/** The type-length-value entries after a mint or token account; null if a length exceeds the data. */
export function extensionEntries(
  tlv: Uint8Array,
): { readonly type: number; readonly data: Uint8Array }[] | null {
  const view = new DataView(tlv.buffer, tlv.byteOffset, tlv.byteLength);
  const entries: { type: number; data: Uint8Array }[] = [];
  let at = 0;
  // Type 0, and a rest shorter than a header, are padding.
  while (at + 4 <= tlv.length) {
    const type = view.getUint16(at, true);
    if (type === 0) break;
    const end = at + 4 + view.getUint16(at + 2, true);
    if (end > tlv.length) return null;
    entries.push({ type, data: tlv.subarray(at + 4, end) });
    at = end;
  }
  return entries;
}

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
