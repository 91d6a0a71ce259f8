import { uiAmount } from '../encoding/amounts.ts';
import { ByteReader } from '../encoding/bytes.ts';
import { accountAt } from './accounts-of.ts';
import type { Parsed } from './instructions.ts';

type Info = Record<string, unknown>;
type At = (index: number) => string;

const AUTHORITY_TYPES = [
  'mintTokens',
  'freezeAccount',
  'accountOwner',
  'closeAccount',
  'transferFeeConfig',
  'withheldWithdraw',
  'closeMint',
  'interestRate',
  'permanentDelegate',
  'confidentialTransferMint',
  'transferHookProgramId',
  'confidentialTransferFeeConfig',
  'metadataPointer',
  'groupPointer',
  'groupMemberPointer',
  'scaledUiAmount',
  'pause',
] as const;

/** One signer under its role, or the multisig with its signers. */
export function signerInfo(accounts: readonly string[], index: number, role: string): Info {
  const multisigRole = `multisig${role.charAt(0).toUpperCase()}${role.slice(1)}`;
  return accounts.length > index + 1
    ? { [multisigRole]: accountAt(accounts, index), signers: accounts.slice(index + 1) }
    : { [role]: accountAt(accounts, index) };
}

function optionalKey(data: ByteReader): string | null {
  return data.u8() === 1 ? data.address() : null;
}

function initializeMint(type: string, at: At, data: ByteReader): Parsed {
  const decimals = data.u8();
  const mintAuthority = data.address();
  const freezeAuthority = optionalKey(data);
  return {
    type,
    info: {
      decimals,
      ...(freezeAuthority === null ? {} : { freezeAuthority }),
      mint: at(0),
      mintAuthority,
      ...(type === 'initializeMint' ? { rentSysvar: at(1) } : {}),
    },
  };
}

function initializeAccount(kind: number, at: At, data: ByteReader): Parsed {
  if (kind === 1)
    return {
      type: 'initializeAccount',
      info: { account: at(0), mint: at(1), owner: at(2), rentSysvar: at(3) },
    };
  const base = { account: at(0), mint: at(1), owner: data.address() };
  return kind === 16
    ? { type: 'initializeAccount2', info: { ...base, rentSysvar: at(2) } }
    : { type: 'initializeAccount3', info: base };
}

function checkedAmount(data: ByteReader): unknown {
  const amount = data.u64();
  return uiAmount(amount, data.u8());
}

function setAuthority(accounts: readonly string[], data: ByteReader): Parsed {
  const authorityType = AUTHORITY_TYPES[data.u8()];
  if (authorityType === undefined) throw new RangeError('unknown authority type');
  const onAccount = authorityType === 'accountOwner' || authorityType === 'closeAccount';
  return {
    type: 'setAuthority',
    info: {
      [onAccount ? 'account' : 'mint']: accountAt(accounts, 0),
      authorityType,
      newAuthority: optionalKey(data),
      ...signerInfo(accounts, 1, 'authority'),
    },
  };
}

/** The checked forms, which name the mint and its decimals. */
function movingChecked(kind: number, accounts: readonly string[], data: ByteReader): Parsed | null {
  const at: At = (index) => accountAt(accounts, index);
  const signer = (index: number, role: string): Info => signerInfo(accounts, index, role);
  switch (kind) {
    case 12:
      return {
        type: 'transferChecked',
        info: {
          destination: at(2),
          mint: at(1),
          source: at(0),
          tokenAmount: checkedAmount(data),
          ...signer(3, 'authority'),
        },
      };
    case 13:
      return {
        type: 'approveChecked',
        info: {
          delegate: at(2),
          mint: at(1),
          source: at(0),
          tokenAmount: checkedAmount(data),
          ...signer(3, 'owner'),
        },
      };
    case 14:
      return {
        type: 'mintToChecked',
        info: {
          account: at(1),
          mint: at(0),
          tokenAmount: checkedAmount(data),
          ...signer(2, 'mintAuthority'),
        },
      };
    case 15:
      return {
        type: 'burnChecked',
        info: { account: at(0), mint: at(1), tokenAmount: checkedAmount(data), ...signer(2, 'authority') },
      };
    default:
      return null;
  }
}

/** Transfers, approvals, mints and burns, in plain and checked form. */
function moving(kind: number, accounts: readonly string[], data: ByteReader): Parsed | null {
  const at: At = (index) => accountAt(accounts, index);
  const signer = (index: number, role: string): Info => signerInfo(accounts, index, role);
  switch (kind) {
    case 3:
      return {
        type: 'transfer',
        info: { amount: data.u64().toString(), destination: at(1), source: at(0), ...signer(2, 'authority') },
      };
    case 4:
      return {
        type: 'approve',
        info: { amount: data.u64().toString(), delegate: at(1), source: at(0), ...signer(2, 'owner') },
      };
    case 5:
      return { type: 'revoke', info: { source: at(0), ...signer(1, 'owner') } };
    case 7:
      return {
        type: 'mintTo',
        info: { account: at(1), amount: data.u64().toString(), mint: at(0), ...signer(2, 'mintAuthority') },
      };
    case 8:
      return {
        type: 'burn',
        info: { account: at(0), amount: data.u64().toString(), mint: at(1), ...signer(2, 'authority') },
      };
    default:
      return movingChecked(kind, accounts, data);
  }
}

/** Instructions that open, close, freeze and measure accounts. */
function managing(kind: number, accounts: readonly string[], data: ByteReader): Parsed | null {
  const at: At = (index) => accountAt(accounts, index);
  switch (kind) {
    case 0:
    case 20:
      return initializeMint(kind === 0 ? 'initializeMint' : 'initializeMint2', at, data);
    case 1:
    case 16:
    case 18:
      return initializeAccount(kind, at, data);
    case 6:
      return setAuthority(accounts, data);
    case 9:
      return {
        type: 'closeAccount',
        info: { account: at(0), destination: at(1), ...signerInfo(accounts, 2, 'owner') },
      };
    case 10:
    case 11:
      return {
        type: kind === 10 ? 'freezeAccount' : 'thawAccount',
        info: { account: at(0), mint: at(1), ...signerInfo(accounts, 2, 'freezeAuthority') },
      };
    case 17:
      return { type: 'syncNative', info: { account: at(0) } };
    case 21:
      return sizeOf(at, data);
    case 22:
      return { type: 'initializeImmutableOwner', info: { account: at(0) } };
    default:
      return extension(kind, accounts, data);
  }
}

const EXTENSION_NAMES = [
  'uninitialized',
  'transferFeeConfig',
  'transferFeeAmount',
  'mintCloseAuthority',
  'confidentialTransferMint',
  'confidentialTransferAccount',
  'defaultAccountState',
  'immutableOwner',
  'memoTransfer',
  'nonTransferable',
] as const;

function sizeOf(at: At, data: ByteReader): Parsed {
  const extensionTypes: string[] = [];
  while (data.remaining >= 2) extensionTypes.push(EXTENSION_NAMES[data.u16()] ?? 'unknown');
  return {
    type: 'getAccountDataSize',
    info: { mint: at(0), ...(extensionTypes.length > 0 ? { extensionTypes } : {}) },
  };
}

/** Token-2022 instructions that exchanges meet: transfer with fee, memo transfers, extension set-up of mints. */
function extension(kind: number, accounts: readonly string[], data: ByteReader): Parsed | null {
  const at: At = (index) => accountAt(accounts, index);
  if (kind === 25)
    return { type: 'initializeMintCloseAuthority', info: { mint: at(0), newAuthority: optionalKey(data) } };
  if (kind === 32) return { type: 'initializeNonTransferableMint', info: { mint: at(0) } };
  if (kind === 35)
    return { type: 'initializePermanentDelegate', info: { delegate: data.address(), mint: at(0) } };
  if (kind === 30) {
    const type = data.u8() === 0 ? 'enableRequiredMemoTransfers' : 'disableRequiredMemoTransfers';
    return { type, info: { account: at(0), ...signerInfo(accounts, 1, 'owner') } };
  }
  return kind === 26 ? transferFee(accounts, data) : null;
}

function transferFee(accounts: readonly string[], data: ByteReader): Parsed | null {
  const at: At = (index) => accountAt(accounts, index);
  const kind = data.u8();
  if (kind === 0) {
    const transferFeeConfigAuthority = optionalKey(data);
    const withdrawWithheldAuthority = optionalKey(data);
    const transferFeeBasisPoints = data.u16();
    return {
      type: 'initializeTransferFeeConfig',
      info: {
        maximumFee: data.u64(),
        mint: at(0),
        transferFeeBasisPoints,
        ...(transferFeeConfigAuthority === null ? {} : { transferFeeConfigAuthority }),
        ...(withdrawWithheldAuthority === null ? {} : { withdrawWithheldAuthority }),
      },
    };
  }
  if (kind !== 1) return null;
  const amount = data.u64();
  const decimals = data.u8();
  return {
    type: 'transferCheckedWithFee',
    info: {
      destination: at(2),
      feeAmount: uiAmount(data.u64(), decimals),
      mint: at(1),
      source: at(0),
      tokenAmount: uiAmount(amount, decimals),
      ...signerInfo(accounts, 3, 'authority'),
    },
  };
}

/** Instructions of both token programs. */
export function parseToken(accounts: readonly string[], bytes: Uint8Array): Parsed | null {
  const data = new ByteReader(bytes);
  const kind = data.u8();
  return moving(kind, accounts, data) ?? managing(kind, accounts, data);
}
