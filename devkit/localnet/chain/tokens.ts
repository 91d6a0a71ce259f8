import { ByteReader } from '../encoding/bytes.ts';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from './programs.ts';
import type { StoredAccount } from './vm.ts';

const ACCOUNT_SIZE = 165;
const MINT_SIZE = 82;
const KIND_MINT = 1;
const KIND_ACCOUNT = 2;

export interface TokenAccountState {
  readonly mint: string;
  readonly owner: string;
  readonly amount: bigint;
  readonly delegate: string | null;
  readonly state: 'uninitialized' | 'initialized' | 'frozen';
  readonly rentReserve: bigint | null;
  readonly delegatedAmount: bigint;
  readonly closeAuthority: string | null;
}

export interface MintState {
  readonly mintAuthority: string | null;
  readonly supply: bigint;
  readonly decimals: number;
  readonly initialized: boolean;
  readonly freezeAuthority: string | null;
}

export function isTokenOwned(account: StoredAccount | null): account is StoredAccount {
  return account?.owner === TOKEN_PROGRAM || account?.owner === TOKEN_2022_PROGRAM;
}

function option<T>(reader: ByteReader, read: () => T): T | null {
  const isPresent = reader.u32() === 1;
  const value = read();
  return isPresent ? value : null;
}

function kindOf(account: StoredAccount): 'mint' | 'account' | null {
  const { length } = account.data;
  if (length === MINT_SIZE) return 'mint';
  if (length === ACCOUNT_SIZE) return 'account';
  if (account.owner !== TOKEN_2022_PROGRAM || length <= ACCOUNT_SIZE) return null;
  const kind = account.data[ACCOUNT_SIZE];
  return kind === KIND_MINT ? 'mint' : kind === KIND_ACCOUNT ? 'account' : null;
}

export function readTokenAccount(account: StoredAccount | null): TokenAccountState | null {
  if (!isTokenOwned(account) || kindOf(account) !== 'account') return null;
  const reader = new ByteReader(account.data);
  const mint = reader.address();
  const owner = reader.address();
  const amount = reader.u64();
  const delegate = option(reader, () => reader.address());
  const state = (['uninitialized', 'initialized', 'frozen'] as const)[reader.u8()] ?? 'uninitialized';
  const rentReserve = option(reader, () => reader.u64());
  const delegatedAmount = reader.u64();
  const closeAuthority = option(reader, () => reader.address());
  return state === 'uninitialized'
    ? null
    : { mint, owner, amount, delegate, state, rentReserve, delegatedAmount, closeAuthority };
}

export function readMint(account: StoredAccount | null): MintState | null {
  if (!isTokenOwned(account) || kindOf(account) !== 'mint') return null;
  const reader = new ByteReader(account.data);
  const mintAuthority = option(reader, () => reader.address());
  const supply = reader.u64();
  const decimals = reader.u8();
  const initialized = reader.u8() === 1;
  const freezeAuthority = option(reader, () => reader.address());
  return initialized ? { mintAuthority, supply, decimals, initialized, freezeAuthority } : null;
}
