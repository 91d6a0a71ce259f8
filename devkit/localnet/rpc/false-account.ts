import { PublicKey } from '@solana/web3.js';
import { z } from 'zod';
import { getAssociatedTokenAddressSync } from '../../../src/shims/spl-token.ts';
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
