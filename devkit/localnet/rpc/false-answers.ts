import { PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { getAssociatedTokenAddressSync } from '../../../src/shims/spl-token.ts';
import { LOOKUP_TABLE_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.ts';
import type { Balances, IndexedTokenBalance, TransactionRecord } from '../chain/records.ts';
import { isTokenOwned, readMint, readTokenAccount } from '../chain/tokens.ts';
import type { AccountReader, StoredAccount } from '../chain/vm.ts';
import type { TransactionErrorJson } from '../chain/vm-errors.ts';
import { addressBytes } from '../encoding/bytes.ts';

/** `made-token-account` invents the associated token accounts of `holders`. */
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

const DECIMALS_AT = 44;
const TOKEN_OWNER_AT = 32;
const TOKEN_STATE_AT = 108;
const TOKEN_ACCOUNT_SIZE = 165;
const INITIALIZED = 1;
const LAMPORTS = 2_039_280n;

/** The account with this lie applied; the same object if the lie does not affect it. */
export function falseAccount(
  address: string,
  account: StoredAccount | null,
  { lie, holders = [] }: FalseAccount,
  read: AccountReader,
): StoredAccount | null {
  if (lie === 'made-token-account')
    return isHeld(account) ? account : madeUp(address, account, holders, read);
  if (account === null) return account;
  if (lie === 'decimals') return readMint(account) === null ? account : otherDecimals(account);
  if (lie === 'program-owner') return { ...account, owner: otherProgram(account) };
  if (readTokenAccount(account) === null) return account;
  return lie === 'no-token-account' ? null : rewritten(account, TOKEN_OWNER_AT, addressBytes(SYSTEM_PROGRAM));
}

function isHeld(account: StoredAccount | null): boolean {
  return account !== null && account.owner !== SYSTEM_PROGRAM;
}

function otherDecimals(mint: StoredAccount): StoredAccount {
  return rewritten(mint, DECIMALS_AT, [(mint.data[DECIMALS_AT] ?? 0) + 3]);
}

function otherProgram(account: StoredAccount): string {
  return isTokenOwned(account) ? SYSTEM_PROGRAM : LOOKUP_TABLE_PROGRAM;
}

function rewritten(account: StoredAccount, at: number, bytes: ArrayLike<number>): StoredAccount {
  const data = Uint8Array.from(account.data);
  data.set(bytes, at);
  return { ...account, data };
}

function madeUp(
  address: string,
  account: StoredAccount | null,
  holders: InventedHolders,
  read: AccountReader,
): StoredAccount | null {
  const made = accountsOf(holders, read).get(address);
  if (made === undefined) return account;
  const data = new Uint8Array(TOKEN_ACCOUNT_SIZE);
  data.set(addressBytes(made.mint));
  data.set(addressBytes(made.owner), TOKEN_OWNER_AT);
  data[TOKEN_STATE_AT] = INITIALIZED;
  return { lamports: LAMPORTS, owner: made.program, data, executable: false, rentEpoch: 0n };
}

type Made = ReadonlyMap<string, InventedHolders[number] & { readonly program: string }>;

/** Deriving the addresses is slow, and a fault applies to many calls. */
const known = new WeakMap<InventedHolders, Made>();

function accountsOf(holders: InventedHolders, read: AccountReader): Made {
  const found = known.get(holders);
  if (found !== undefined) return found;
  const made = new Map(
    holders.map(({ owner, mint }) => {
      const program = read(mint)?.owner ?? SYSTEM_PROGRAM;
      return [ataOf(owner, mint, program), { owner, mint, program }] as const;
    }),
  );
  known.set(holders, made);
  return made;
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
 * Lies about the transactions of a true block: the first one is missing, token accounts had another owner before, or have another
 * program, signers are missing, or the mint is garbled.
 */
export const LIES = ['leave-out', 'other-owner', 'other-program', 'unsigned', 'garbled-mint'] as const;

/** `mirrored` swaps the balances before and after, so that payer and receiver change places. */
export const ALL_LIES = [...LIES, 'mirrored'] as const;

export type Lie = (typeof ALL_LIES)[number];

/** The transactions of a block with this lie applied. */
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
  const balances: Balances = { ...meta[side], tokens: meta[side].tokens.map((one) => ({ ...one, ...lie })) };
  return { ...record, meta: { ...meta, [side]: balances } };
}

/** False statuses of a signature that is not finalized: confirmed, finalized, or finalized with an error. */
export const STATUS_LIES = ['confirmed', 'finalized', 'failed'] as const;

export type StatusLie = (typeof STATUS_LIES)[number];

const TRANSFER_FAILED: TransactionErrorJson = { InstructionError: [2, { Custom: 1 }] };

/** The status of a signature at `slot`, with this lie applied. */
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
