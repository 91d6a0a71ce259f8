import { readNonce } from '../chain/nonce.ts';
import { LOOKUP_TABLE_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../chain/programs.ts';
import { readMint, readTokenAccount } from '../chain/tokens.ts';
import type { StoredAccount } from '../chain/vm.ts';
import { uiAmount } from '../encoding/amounts.ts';
import { ByteReader, toBase58 } from '../encoding/bytes.ts';

export interface ParsedAccount {
  readonly program: string;
  readonly parsed: { readonly type: string; readonly info: Readonly<Record<string, unknown>> };
}

const SYSVAR_OWNER = 'Sysvar1111111111111111111111111111111111111';
const CLOCK_SIZE = 40;
const TABLE_HEADER = 56;
const TOKEN_ACCOUNT_SIZE = 165;

const fee = (reader: ByteReader) => ({
  epoch: reader.u64(),
  maximumFee: reader.u64(),
  transferFeeBasisPoints: reader.u16(),
});

/** Token-2022 extensions by type number: the name, and a reader if the extension has a state. */
export const EXTENSIONS: Readonly<
  Record<number, { readonly name: string; readonly read?: (reader: ByteReader) => unknown }>
> = {
  1: {
    name: 'transferFeeConfig',
    read: (reader) => ({
      transferFeeConfigAuthority: reader.optionalAddress(),
      withdrawWithheldAuthority: reader.optionalAddress(),
      withheldAmount: reader.u64(),
      olderTransferFee: fee(reader),
      newerTransferFee: fee(reader),
    }),
  },
  2: { name: 'transferFeeAmount', read: (reader) => ({ withheldAmount: reader.u64() }) },
  7: { name: 'immutableOwner' },
  26: {
    name: 'pausableConfig',
    read: (reader) => ({ authority: reader.optionalAddress(), paused: reader.u8() === 1 }),
  },
};

function extensionsOf(data: Uint8Array): { readonly extensions?: readonly unknown[] } {
  if (data.length <= TOKEN_ACCOUNT_SIZE) return {};
  const reader = new ByteReader(data, TOKEN_ACCOUNT_SIZE + 1);
  const extensions: unknown[] = [];
  while (reader.remaining >= 4) {
    const type = reader.u16();
    const state = new ByteReader(reader.bytes(reader.u16()));
    if (type === 0) break;
    const { name = 'unparseableExtension', read } = EXTENSIONS[type] ?? {};
    extensions.push({ extension: name, ...(read ? { state: read(state) } : {}) });
  }
  return extensions.length === 0 ? {} : { extensions };
}

function tokenAccount(
  account: StoredAccount,
  mintOf: (mint: string) => StoredAccount | null,
): ParsedAccount['parsed'] | null {
  const token = readTokenAccount(account);
  const mint = token && readMint(mintOf(token.mint));
  if (!token || !mint) return null;
  return {
    type: 'account',
    info: {
      ...(token.closeAuthority === null ? {} : { closeAuthority: token.closeAuthority }),
      ...(token.delegate === null
        ? {}
        : { delegate: token.delegate, delegatedAmount: uiAmount(token.delegatedAmount, mint.decimals) }),
      ...extensionsOf(account.data),
      isNative: token.rentReserve !== null,
      mint: token.mint,
      owner: token.owner,
      ...(token.rentReserve === null
        ? {}
        : { rentExemptReserve: uiAmount(token.rentReserve, mint.decimals) }),
      state: token.state,
      tokenAmount: uiAmount(token.amount, mint.decimals),
    },
  };
}

function mintAccount(account: StoredAccount): ParsedAccount['parsed'] | null {
  const mint = readMint(account);
  if (!mint) return null;
  const { decimals, freezeAuthority, mintAuthority } = mint;
  return {
    type: 'mint',
    info: {
      decimals,
      ...extensionsOf(account.data),
      freezeAuthority,
      isInitialized: true,
      mintAuthority,
      supply: mint.supply.toString(),
    },
  };
}

function lookupTable(account: StoredAccount): ParsedAccount | null {
  if (account.data.length < TABLE_HEADER) return null;
  const reader = new ByteReader(account.data);
  if (reader.u32() !== 1) return null;
  const deactivationSlot = reader.u64();
  const lastExtendedSlot = reader.u64();
  const lastExtendedSlotStartIndex = reader.u8();
  const authority = reader.u8() === 1 ? toBase58(reader.bytes(32)) : null;
  reader.offset = TABLE_HEADER;
  const addresses: string[] = [];
  while (reader.remaining >= 32) addresses.push(reader.address());
  return {
    program: 'address-lookup-table',
    parsed: {
      type: 'lookupTable',
      info: {
        addresses,
        ...(authority === null ? {} : { authority }),
        deactivationSlot: deactivationSlot.toString(),
        lastExtendedSlot: lastExtendedSlot.toString(),
        lastExtendedSlotStartIndex,
      },
    },
  };
}

function clock(account: StoredAccount): ParsedAccount | null {
  if (account.data.length !== CLOCK_SIZE) return null;
  const reader = new ByteReader(account.data);
  const slot = reader.u64();
  const epochStartTimestamp = reader.i64();
  const epoch = reader.u64();
  const leaderScheduleEpoch = reader.u64();
  const info = { epoch, epochStartTimestamp, leaderScheduleEpoch, slot, unixTimestamp: reader.i64() };
  return { program: 'sysvar', parsed: { type: 'clock', info } };
}

function nonce(account: StoredAccount): ParsedAccount | null {
  const state = readNonce(account);
  if (!state) return null;
  const feeCalculator = { lamportsPerSignature: state.lamportsPerSignature.toString() };
  const info = { authority: state.authority, blockhash: state.nonce, feeCalculator };
  return { program: 'nonce', parsed: { type: 'initialized', info } };
}

/** The jsonParsed form of an account; null if nodes return base64 instead. */
export function parseAccount(
  account: StoredAccount,
  mintOf: (mint: string) => StoredAccount | null,
): ParsedAccount | null {
  if (account.owner === TOKEN_PROGRAM || account.owner === TOKEN_2022_PROGRAM) {
    const parsed = mintAccount(account) ?? tokenAccount(account, mintOf);
    return (
      parsed && { program: account.owner === TOKEN_2022_PROGRAM ? 'spl-token-2022' : 'spl-token', parsed }
    );
  }
  if (account.owner === LOOKUP_TABLE_PROGRAM) return lookupTable(account);
  if (account.owner === SYSVAR_OWNER) return clock(account);
  return nonce(account);
}
