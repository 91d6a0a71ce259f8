import { PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { getAssociatedTokenAddressSync } from '../../../src/shims/spl-token.ts';
import { LOOKUP_TABLE_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.ts';
import type { Balances, TokenHolding, TransactionRecord } from '../chain/records.ts';
import { isTokenOwned, readMint, readTokenAccount } from '../chain/tokens.ts';
import type { StoredAccount } from '../chain/vm.ts';
import type { TransactionError } from '../chain/vm-errors.ts';
import { addressBytes } from '../encoding/bytes.ts';

/** `made-token-account` shows the associated token accounts of `holders`, which do not exist. */
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

type Holders = NonNullable<FalseAccount['holders']>;

type Read = (address: string) => StoredAccount | null;

const DECIMALS_AT = 44;
const TOKEN_OWNER_AT = 32;
const TOKEN_STATE_AT = 108;
const TOKEN_ACCOUNT_SIZE = 165;
const INITIALIZED = 1;
const LAMPORTS = 2_039_280n;

/** The account as a node shows it that tells this lie; the very same object where the lie does not concern it. */
export function falseAccount(
  address: string,
  account: StoredAccount | null,
  { lie, holders = [] }: FalseAccount,
  read: Read,
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
  holders: Holders,
  read: Read,
): StoredAccount | null {
  const made = accountsOf(holders, read).get(address);
  if (made === undefined) return account;
  const data = new Uint8Array(TOKEN_ACCOUNT_SIZE);
  data.set(addressBytes(made.mint));
  data.set(addressBytes(made.owner), TOKEN_OWNER_AT);
  data[TOKEN_STATE_AT] = INITIALIZED;
  return { lamports: LAMPORTS, owner: made.program, data, executable: false, rentEpoch: 0n };
}

type Made = ReadonlyMap<string, Holders[number] & { readonly program: string }>;

/** Searching the addresses takes long, and a fault lasts for many calls. */
const known = new WeakMap<Holders, Made>();

function accountsOf(holders: Holders, read: Read): Made {
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
 * What a node says falsely of the transactions in a block, which it names truly: it leaves the first one out, gives token accounts
 * another owner before, or another program, hides who signed, or garbles the mint.
 */
export const LIES = ['leave-out', 'other-owner', 'other-program', 'unsigned', 'garbled-mint'] as const;

/** With one that turns every payment round: who paid seems to have received, and the other way round. */
export const ALL_LIES = [...LIES, 'mirrored'] as const;

export type Lie = (typeof ALL_LIES)[number];

/** The transactions of a block as a node shows them that tells this lie. */
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
      return records.map((record) => retold(record, 'before', { owner: SYSTEM_PROGRAM }));
    case 'other-program':
      return records.map((record) => retold(record, 'after', { programId: SYSTEM_PROGRAM }));
    case 'garbled-mint':
      return records.map((record) => retold(record, 'after', { mint: 'garbage' }));
  }
}

function unsigned(record: TransactionRecord): TransactionRecord {
  const { transaction } = record;
  const { message } = transaction;
  const header = { ...message.header, signatures: 0 };
  return { ...record, transaction: { ...transaction, message: { ...message, header } } };
}

function retold(
  record: TransactionRecord,
  side: 'before' | 'after',
  lie: Partial<TokenHolding>,
): TransactionRecord {
  const { meta } = record;
  const balances: Balances = { ...meta[side], tokens: meta[side].tokens.map((one) => ({ ...one, ...lie })) };
  return { ...record, meta: { ...meta, [side]: balances } };
}

/** What a node reports falsely of a signature that is not finalized: that it is confirmed, finalized, or finalized with an error. */
export const STATUS_LIES = ['confirmed', 'finalized', 'failed'] as const;

export type StatusLie = (typeof STATUS_LIES)[number];

const TRANSFER_FAILED: TransactionError = { InstructionError: [2, { Custom: 1 }] };

/** The status of a signature at `slot`, as a node reports it that tells this lie. */
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
