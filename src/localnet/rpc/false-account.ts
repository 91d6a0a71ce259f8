import { PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { getAssociatedTokenAddressSync } from '../../packages/spl-token.ts';
import { LOOKUP_TABLE_PROGRAM, SYSTEM_PROGRAM } from '../chain/programs.ts';
import { isTokenOwned, readMint, readTokenAccount } from '../chain/tokens.ts';
import type { StoredAccount } from '../chain/vm.ts';
import { addressBytes } from '../encoding/bytes.ts';

/**
 * How a node shows accounts falsely: mints with other decimals, token accounts as absent or with another owner, any account as owned by
 * another program, or the associated token accounts of `holders` as present where they are absent.
 */
export const ACCOUNT_LIES = [
  'decimals',
  'no-token-account',
  'token-owner',
  'program-owner',
  'made-token-account',
] as const;

/** A wallet and a mint, whose associated token account does not exist yet. */
const holder = z.object({ owner: z.string(), mint: z.string() });

export const falseAccountSchema = z.object({
  kind: z.literal('false-account'),
  lie: z.literal(ACCOUNT_LIES),
  holders: z.array(holder).optional(),
});

type FalseAccount = Readonly<z.infer<typeof falseAccountSchema>>;

type Read = (address: string) => StoredAccount | null;

const DECIMALS_AT = 44;
const TOKEN_OWNER_AT = 32;
const TOKEN_STATE_AT = 108;
const TOKEN_ACCOUNT_SIZE = 165;
const INITIALIZED = 1;

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
  holders: FalseAccount['holders'] & object,
  read: Read,
): StoredAccount | null {
  for (const { owner, mint } of holders) {
    const program = read(mint)?.owner;
    if (program === undefined || ataOf(owner, mint, program) !== address) continue;
    const data = new Uint8Array(TOKEN_ACCOUNT_SIZE);
    data.set(addressBytes(mint));
    data.set(addressBytes(owner), TOKEN_OWNER_AT);
    data[TOKEN_STATE_AT] = INITIALIZED;
    return { lamports: 2_039_280n, owner: program, data, executable: false, rentEpoch: 0n };
  }
  return account;
}

function ataOf(owner: string, mint: string, program: string): string {
  const keys = [mint, owner, program].map((key) => new PublicKey(key)) as [PublicKey, PublicKey, PublicKey];
  return getAssociatedTokenAddressSync(keys[0], keys[1], true, keys[2]).toBase58();
}
