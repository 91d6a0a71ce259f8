import { ByteReader } from '../encoding/bytes.ts';

/** One Token-2022 extension in the form of jsonParsed. */
export interface ParsedExtension {
  readonly extension: string;
  readonly state?: unknown;
}

const BASE_SIZE = 165;
const ACCOUNT_STATES = ['uninitialized', 'initialized', 'frozen'] as const;

function fee(reader: ByteReader): unknown {
  const epoch = reader.u64();
  const maximumFee = reader.u64();
  return { epoch, maximumFee, transferFeeBasisPoints: reader.u16() };
}

function transferFeeConfig(reader: ByteReader): unknown {
  const transferFeeConfigAuthority = reader.optionalAddress();
  const withdrawWithheldAuthority = reader.optionalAddress();
  const withheldAmount = reader.u64();
  const olderTransferFee = fee(reader);
  return {
    newerTransferFee: fee(reader),
    olderTransferFee,
    transferFeeConfigAuthority,
    withdrawWithheldAuthority,
    withheldAmount,
  };
}

function pair(first: string, second: string): (reader: ByteReader) => unknown {
  return (reader) => ({ [first]: reader.optionalAddress(), [second]: reader.optionalAddress() });
}

function metadata(reader: ByteReader): unknown {
  const text = (): string => new TextDecoder().decode(reader.bytes(reader.u32()));
  const updateAuthority = reader.optionalAddress();
  const mint = reader.address();
  const name = text();
  const symbol = text();
  const uri = text();
  const additionalMetadata = Array.from({ length: reader.u32() }, () => [text(), text()]);
  return { additionalMetadata, mint, name, symbol, updateAuthority, uri };
}

/** Names and state readers by extension number; those without a reader carry no state. */
const EXTENSIONS: Readonly<
  Record<number, { readonly name: string; readonly read?: (reader: ByteReader) => unknown }>
> = {
  1: { name: 'transferFeeConfig', read: transferFeeConfig },
  2: { name: 'transferFeeAmount', read: (reader) => ({ withheldAmount: reader.u64() }) },
  3: { name: 'mintCloseAuthority', read: (reader) => ({ closeAuthority: reader.optionalAddress() }) },
  6: { name: 'defaultAccountState', read: (reader) => ({ accountState: ACCOUNT_STATES[reader.u8()] }) },
  7: { name: 'immutableOwner' },
  8: { name: 'memoTransfer', read: (reader) => ({ requireIncomingTransferMemos: reader.u8() === 1 }) },
  9: { name: 'nonTransferable' },
  11: { name: 'cpiGuard', read: (reader) => ({ lockCpi: reader.u8() === 1 }) },
  12: { name: 'permanentDelegate', read: (reader) => ({ delegate: reader.optionalAddress() }) },
  13: { name: 'nonTransferableAccount' },
  14: { name: 'transferHook', read: pair('authority', 'programId') },
  15: { name: 'transferHookAccount', read: (reader) => ({ transferring: reader.u8() === 1 }) },
  18: { name: 'metadataPointer', read: pair('authority', 'metadataAddress') },
  19: { name: 'tokenMetadata', read: metadata },
  20: { name: 'groupPointer', read: pair('authority', 'groupAddress') },
  22: { name: 'groupMemberPointer', read: pair('authority', 'memberAddress') },
  26: {
    name: 'pausableConfig',
    read: (reader) => ({ authority: reader.optionalAddress(), paused: reader.u8() === 1 }),
  },
  27: { name: 'pausableAccount' },
};

/** The extensions of a mint or token account, in stored order. */
export function parseExtensions(data: Uint8Array): ParsedExtension[] {
  if (data.length <= BASE_SIZE) return [];
  const reader = new ByteReader(data, BASE_SIZE + 1);
  const found: ParsedExtension[] = [];
  while (reader.remaining >= 4) {
    const type = reader.u16();
    const state = new ByteReader(reader.bytes(reader.u16()));
    if (type === 0) break;
    const known = EXTENSIONS[type];
    if (!known) found.push({ extension: 'unparseableExtension' });
    else
      found.push(
        known.read ? { extension: known.name, state: known.read(state) } : { extension: known.name },
      );
  }
  return found;
}
