const NAMES: Readonly<Record<number, string>> = {
  1: 'transferFeeConfig',
  2: 'transferFeeAmount',
  3: 'mintCloseAuthority',
  4: 'confidentialTransferMint',
  5: 'confidentialTransferAccount',
  6: 'defaultAccountState',
  7: 'immutableOwner',
  8: 'memoTransfer',
  9: 'nonTransferable',
  10: 'interestBearingConfig',
  11: 'cpiGuard',
  12: 'permanentDelegate',
  13: 'nonTransferableAccount',
  14: 'transferHook',
  15: 'transferHookAccount',
  16: 'confidentialTransferFeeConfig',
  17: 'confidentialTransferFeeAmount',
  18: 'metadataPointer',
  19: 'tokenMetadata',
  20: 'groupPointer',
  21: 'tokenGroup',
  22: 'groupMemberPointer',
  23: 'tokenGroupMember',
  24: 'confidentialMintBurn',
  25: 'scaledUiAmountConfig',
  26: 'pausableConfig',
  27: 'pausableAccount',
  28: 'permissionedBurn',
};

export function extensionName(type: number): string {
  return NAMES[type] ?? `unknown:${type}`;
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
