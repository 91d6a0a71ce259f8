import { PublicKey, type AccountInfo as Web3Account } from '@solana/web3.js';
import { ExtensionType } from '../../shims/spl-token.ts';
import type { AccountInfo } from '../rpc/schemas.ts';

/** Names of extension types that spl-token does not name. */
const EXTRA_NAMES: Readonly<Record<number, string>> = {
  16: 'confidentialTransferFeeConfig',
  17: 'confidentialTransferFeeAmount',
  24: 'confidentialMintBurn',
};

/**
 * Name of an extension type, such as `transferFeeConfig`; `unknown:<type>` for a type that this build does not know.
 */
export function extensionName(type: number): string {
  const name: string | undefined = EXTRA_NAMES[type] ?? ExtensionType[type];
  return name === undefined ? `unknown:${type}` : `${name.charAt(0).toLowerCase()}${name.slice(1)}`;
}

/** Decodes the type-length-value entries of a mint or token account; null if an entry exceeds the data. */
export function extensionEntries(
  tlv: Uint8Array,
): { readonly type: number; readonly data: Uint8Array }[] | null {
  const view = new DataView(tlv.buffer, tlv.byteOffset, tlv.byteLength);
  const entries: { type: number; data: Uint8Array }[] = [];
  let at = 0;
  // Type 0 begins the padding, and so do fewer bytes than an entry header.
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

/** Decodes an account of a token program with an spl-token function; null if the function throws. */
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
