import { PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { getAssociatedTokenAddressSync } from '../../../src/shims/spl-token.ts';
import { LOOKUP_TABLE_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.ts';
import type { Balances, IndexedTokenBalance, TransactionRecord } from '../chain/records.ts';
import { isTokenOwned, readMint, readTokenAccount } from '../chain/tokens.ts';
import type { AccountReader, StoredAccount } from '../chain/vm.ts';
import type { TransactionErrorJson } from '../chain/vm-errors.ts';
import { addressBytes } from '../encoding/bytes.ts';

/** False accounts that a node can return. `made-token-account` invents the associated token accounts of `holders`. */
export const ACCOUNT_LIES = [
  'decimals',
  'no-token-account',
  'token-owner',
  'program-owner',
  'made-token-account',
] as const;

const holder = z.object({ owner: z.string(), mint: z.string() });

export const falseAccountSchema = z.object({
  kind: z.literal('false-account'),
  lie: z.literal(ACCOUNT_LIES),
  holders: z.array(holder).optional(),
});

type FalseAccount = Readonly<z.infer<typeof falseAccountSchema>>;

type InventedHolders = NonNullable<FalseAccount['holders']>;

const DECIMALS_OFFSET = 44;
const TOKEN_OWNER_OFFSET = 32;
const TOKEN_STATE_OFFSET = 108;
const TOKEN_ACCOUNT_SIZE = 165;
const INITIALIZED = 1;
const RENT_LAMPORTS = 2_039_280n;

/** The account with this lie applied; `account` itself if the lie does not affect it. */
export function falseAccount(
  address: string,
  account: StoredAccount | null,
  { lie, holders = [] }: FalseAccount,
  read: AccountReader,
): StoredAccount | null {
  if (lie === 'made-token-account')
    return isOwnedByProgram(account) ? account : inventedAccount(address, account, holders, read);
  if (account === null) return account;
  if (lie === 'decimals') return readMint(account) === null ? account : withOtherDecimals(account);
  if (lie === 'program-owner') return { ...account, owner: programOtherThan(account) };
  if (readTokenAccount(account) === null) return account;
  return lie === 'no-token-account'
    ? null
    : withBytes(account, TOKEN_OWNER_OFFSET, addressBytes(SYSTEM_PROGRAM));
}

function isOwnedByProgram(account: StoredAccount | null): boolean {
  return account !== null && account.owner !== SYSTEM_PROGRAM;
}

function withOtherDecimals(mint: StoredAccount): StoredAccount {
  return withBytes(mint, DECIMALS_OFFSET, [(mint.data[DECIMALS_OFFSET] ?? 0) + 3]);
}

function programOtherThan(account: StoredAccount): string {
  return isTokenOwned(account) ? SYSTEM_PROGRAM : LOOKUP_TABLE_PROGRAM;
}

function withBytes(account: StoredAccount, offset: number, bytes: ArrayLike<number>): StoredAccount {
  const data = Uint8Array.from(account.data);
  data.set(bytes, offset);
  return { ...account, data };
}

function inventedAccount(
  address: string,
  account: StoredAccount | null,
  holders: InventedHolders,
  read: AccountReader,
): StoredAccount | null {
  const invented = accountsOf(holders, read).get(address);
  if (invented === undefined) return account;
  const data = new Uint8Array(TOKEN_ACCOUNT_SIZE);
  data.set(addressBytes(invented.mint));
  data.set(addressBytes(invented.owner), TOKEN_OWNER_OFFSET);
  data[TOKEN_STATE_OFFSET] = INITIALIZED;
  return { lamports: RENT_LAMPORTS, owner: invented.program, data, executable: false, rentEpoch: 0n };
}

type InventedAccounts = ReadonlyMap<string, InventedHolders[number] & { readonly program: string }>;

/** A fault applies to many calls, and deriving the addresses is slow; derive them only once. */
const accountsByHolders = new WeakMap<InventedHolders, InventedAccounts>();

function accountsOf(holders: InventedHolders, read: AccountReader): InventedAccounts {
  const found = accountsByHolders.get(holders);
  if (found !== undefined) return found;
  const accounts = new Map(
    holders.map(({ owner, mint }) => {
      const program = read(mint)?.owner ?? SYSTEM_PROGRAM;
      return [ataOf(owner, mint, program), { owner, mint, program }] as const;
    }),
  );
  accountsByHolders.set(holders, accounts);
  return accounts;
}

function ataOf(owner: string, mint: string, program: string): string {
  return getAssociatedTokenAddressSync(
    new PublicKey(mint),
    new PublicKey(owner),
    true,
    new PublicKey(program),
  ).toBase58();
}

/**
 * Lies about the transactions of a block. `leave-out` omits the first one. `other-owner` changes the owners of token balances before,
 * `other-program` the programs of token balances after. `unsigned` removes all signers. `garbled-mint` makes the mints unreadable.
 */
export const LIES = ['leave-out', 'other-owner', 'other-program', 'unsigned', 'garbled-mint'] as const;

/** All lies about a block. `mirrored` swaps the balances before and after, so that payer and receiver change places. */
export const ALL_LIES = [...LIES, 'mirrored'] as const;

export type Lie = (typeof ALL_LIES)[number];

export function falseTransactions(
  records: readonly TransactionRecord[],
  lie: Lie,
): readonly TransactionRecord[] {
  switch (lie) {
    case 'leave-out':
      return records.slice(1);
    case 'mirrored':
      return records.map((record) => {
        const { before, after } = record.meta;
        return { ...record, meta: { ...record.meta, before: after, after: before } };
      });
    case 'unsigned':
      return records.map(unsigned);
    case 'other-owner':
      return records.map((record) => withTokens(record, 'before', { owner: SYSTEM_PROGRAM }));
    case 'other-program':
      return records.map((record) => withTokens(record, 'after', { programId: SYSTEM_PROGRAM }));
    case 'garbled-mint':
      return records.map((record) => withTokens(record, 'after', { mint: 'garbage' }));
  }
}

function unsigned(record: TransactionRecord): TransactionRecord {
  const { transaction } = record;
  const { message } = transaction;
  const header = { ...message.header, signatures: 0 };
  return { ...record, transaction: { ...transaction, message: { ...message, header } } };
}

function withTokens(
  record: TransactionRecord,
  side: 'before' | 'after',
  lie: Partial<IndexedTokenBalance>,
): TransactionRecord {
  const { meta } = record;
  const balances: Balances = {
    ...meta[side],
    tokens: meta[side].tokens.map((token) => ({ ...token, ...lie })),
  };
  return { ...record, meta: { ...meta, [side]: balances } };
}

/** False signature statuses; `failed` means finalized with an error. */
export const STATUS_LIES = ['confirmed', 'finalized', 'failed'] as const;

export type StatusLie = (typeof STATUS_LIES)[number];

const TRANSFER_FAILED: TransactionErrorJson = { InstructionError: [2, { Custom: 1 }] };

export function falseStatus(lie: StatusLie, slot: number): Record<string, unknown> {
  const err = lie === 'failed' ? TRANSFER_FAILED : null;
  return {
    confirmationStatus: lie === 'confirmed' ? 'confirmed' : 'finalized',
    confirmations: lie === 'confirmed' ? 1 : null,
    err,
    slot,
    status: err === null ? { Ok: null } : { Err: err },
  };
}
