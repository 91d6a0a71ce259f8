import {
  type Connection,
  PublicKey,
  TransactionInstruction,
  type AccountInfo as Web3Account,
} from '@solana/web3.js';
import { DomainError } from '../../domain/errors.ts';
import { addExtraAccountMetasForExecute, getExtraAccountMetaAddress } from '../../shims/spl-token.ts';
import type { AccountView } from '../rpc/agreed-accounts.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import type { HookAccount } from '../tx/transfer.ts';
import { deriveAta } from './ata.ts';
import type { MintInfo } from './mint.ts';
import { newTokenAccountData } from './token-account.ts';

/** The transfer that the hook receives, between wallets; `createAta`: the destination's account is created first. */
export interface HookedTransfer {
  readonly source: string;
  readonly destination: string;
  readonly amount: bigint;
  readonly createAta: boolean;
  /** The destination may be off the curve. Default false. */
  readonly toVault?: boolean;
}

/**
 * The extra accounts that the mint's transfer hook requires after the four of a transfer, from the hook's own list on
 * chain. Empty for a mint without a hook. Throws DomainError AssetRejected if the list cannot be read or resolved, or
 * requires another signer. Errors of the node pass through.
 */
export async function resolveHookAccounts(
  view: AccountView,
  mint: MintInfo,
  transfer: HookedTransfer,
): Promise<HookAccount[]> {
  if (mint.hookProgram === null) return [];
  const hook = new PublicKey(mint.hookProgram);
  const listAddress = getExtraAccountMetaAddress(new PublicKey(mint.address), hook).toBase58();
  const { account: list } = await view.account(listAddress);
  // Token-2022 reads a list only if the transfer names it. Anyone can send lamports to the list's address, so an
  // empty account is no list.
  if (list === null || list.data.length === 0) return [{ address: mint.hookProgram, writable: false }];
  if (!isHookList(list.data)) throw refused(mint, 'has a list of accounts that cannot be read');
  const extra = await follow(view, mint, hook, transfer, new Map([[listAddress, list]]));
  if (extra.some((account) => account.isSigner)) throw refused(mint, 'demands another signature');
  return extra.map(({ pubkey, isWritable }) => ({ address: pubkey.toBase58(), writable: isWritable }));
}

const EXECUTE = Buffer.from([105, 37, 101, 197, 75, 251, 102, 26]);
const LIST_START = 16;
const ENTRY_SIZE = 35;

/** True for one list for `Execute`: its discriminator, u32 length, u32 count, then room for that many entries. */
export function isHookList(data: Uint8Array): boolean {
  if (data.length < LIST_START || !EXECUTE.equals(data.subarray(0, EXECUTE.length))) return false;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const [length, count] = [view.getUint32(8, true), view.getUint32(12, true)];
  return length >= 4 + ENTRY_SIZE * count && data.length >= 12 + length;
}

async function follow(
  view: AccountView,
  mint: MintInfo,
  hook: PublicKey,
  { source, destination, amount, createAta, toVault }: HookedTransfer,
  known: Map<string, AccountInfo>,
) {
  const from = new PublicKey(deriveAta(source, mint.address, mint.program));
  const to = new PublicKey(deriveAta(destination, mint.address, mint.program, toVault));
  const [owner, token] = [new PublicKey(source), new PublicKey(mint.address)];
  if (createAta) known.set(to.toBase58(), accountToBe(mint, destination));
  const four = [from, token, to, owner].map((pubkey) => ({ pubkey, isSigner: false, isWritable: false }));
  const instruction = new TransactionInstruction({ programId: hook, keys: [...four] });
  const reader = readerOf(view, known);
  try {
    await addExtraAccountMetasForExecute(reader, instruction, hook, from, token, to, owner, amount);
  } catch (error) {
    if (error instanceof Unread) throw error.cause;
    throw refused(mint, 'has a list of accounts that cannot be followed', error);
  }
  return instruction.keys.slice(four.length);
}

/** The destination's token account as this transaction will have created it: hooks may read it. */
function accountToBe(mint: MintInfo, owner: string): AccountInfo {
  const data = newTokenAccountData(mint.address, owner);
  return { lamports: 0n, owner: mint.program, executable: false, data };
}

class Unread extends Error {}

// spl-token reads accounts through a Connection and uses only this method of it.
function readerOf(view: AccountView, known: ReadonlyMap<string, AccountInfo>): Connection {
  const reader = {
    async getAccountInfo(key: PublicKey): Promise<Web3Account<Buffer> | null> {
      const account = known.get(key.toBase58()) ?? (await read(view, key.toBase58()));
      if (account === null) return null;
      const { executable, data } = account;
      return { lamports: 0, executable, owner: new PublicKey(account.owner), data: Buffer.from(data) };
    },
  };
  return reader as unknown as Connection;
}

async function read(view: AccountView, address: string): Promise<AccountInfo | null> {
  try {
    return (await view.account(address)).account;
  } catch (error) {
    throw new Unread('an account could not be read', { cause: error });
  }
}

function refused(mint: MintInfo, reason: string, cause?: unknown): DomainError {
  const { address, hookProgram } = mint;
  return new DomainError(
    'AssetRejected',
    `the transfer hook ${hookProgram} of ${address} ${reason}`,
    {},
    cause,
  );
}
