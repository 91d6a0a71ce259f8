import { ByteReader } from '../encoding/bytes.ts';
import { accountAt } from './accounts-of.ts';
import type { Parsed } from './instructions.ts';

type Reader = (at: (index: number) => string, data: ByteReader) => Parsed;

function text(data: ByteReader): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(data.bytes(Number(data.u64())));
}

const SYSVARS = {
  recentBlockhashes: 'recentBlockhashesSysvar',
  rent: 'rentSysvar',
} as const;

/** Readers by instruction number. */
const READERS: Readonly<Record<number, Reader>> = {
  1: (at, data) => ({ type: 'assign', info: { account: at(0), owner: data.address() } }),
  2: (at, data) => ({ type: 'transfer', info: { destination: at(1), lamports: data.u64(), source: at(0) } }),
  4: (at) => ({
    type: 'advanceNonce',
    info: { nonceAccount: at(0), nonceAuthority: at(2), [SYSVARS.recentBlockhashes]: at(1) },
  }),
  5: (at, data) => ({
    type: 'withdrawFromNonce',
    info: {
      destination: at(1),
      lamports: data.u64(),
      nonceAccount: at(0),
      nonceAuthority: at(4),
      [SYSVARS.recentBlockhashes]: at(2),
      [SYSVARS.rent]: at(3),
    },
  }),
  6: (at, data) => ({
    type: 'initializeNonce',
    info: {
      nonceAccount: at(0),
      nonceAuthority: data.address(),
      [SYSVARS.recentBlockhashes]: at(1),
      [SYSVARS.rent]: at(2),
    },
  }),
  7: (at, data) => ({
    type: 'authorizeNonce',
    info: { newAuthorized: data.address(), nonceAccount: at(0), nonceAuthority: at(1) },
  }),
  8: (at, data) => ({ type: 'allocate', info: { account: at(0), space: data.u64() } }),
  12: (at) => ({ type: 'upgradeNonce', info: { nonceAccount: at(0) } }),
};

function createAccount(at: (index: number) => string, data: ByteReader): Parsed {
  const lamports = data.u64();
  const space = data.u64();
  const owner = data.address();
  return { type: 'createAccount', info: { lamports, newAccount: at(1), owner, source: at(0), space } };
}

function createAccountWithSeed(at: (index: number) => string, data: ByteReader): Parsed {
  const base = data.address();
  const seed = text(data);
  const lamports = data.u64();
  const space = data.u64();
  const owner = data.address();
  return {
    type: 'createAccountWithSeed',
    info: { base, lamports, newAccount: at(1), owner, seed, source: at(0), space },
  };
}

function withSeed(
  type: 'allocateWithSeed' | 'assignWithSeed',
  at: (index: number) => string,
  data: ByteReader,
): Parsed {
  const base = data.address();
  const seed = text(data);
  const space = type === 'allocateWithSeed' ? { space: data.u64() } : {};
  return { type, info: { account: at(0), base, owner: data.address(), seed, ...space } };
}

function transferWithSeed(at: (index: number) => string, data: ByteReader): Parsed {
  const lamports = data.u64();
  const sourceSeed = text(data);
  const sourceOwner = data.address();
  return {
    type: 'transferWithSeed',
    info: { destination: at(2), lamports, source: at(0), sourceBase: at(1), sourceOwner, sourceSeed },
  };
}

/** System program instructions. */
export function parseSystem(accounts: readonly string[], bytes: Uint8Array): Parsed | null {
  const data = new ByteReader(bytes);
  const kind = data.u32();
  const at = (index: number): string => accountAt(accounts, index);
  if (kind === 0) return createAccount(at, data);
  if (kind === 3) return createAccountWithSeed(at, data);
  if (kind === 9) return withSeed('allocateWithSeed', at, data);
  if (kind === 10) return withSeed('assignWithSeed', at, data);
  if (kind === 11) return transferWithSeed(at, data);
  return READERS[kind]?.(at, data) ?? null;
}
