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

/** The transfer between two wallets for which the hook is called. */
export interface HookedTransfer {
  readonly source: string;
  readonly destination: string;
  readonly amount: bigint;
  /** The same transaction first creates the token account of `destination`. */
  readonly createAta: boolean;
  /** Permits a destination off the curve. Default false. */
  readonly toVault?: boolean;
}

/**
 * The extra accounts that the mint's transfer hook requires after the four accounts of a transfer, from the hook's
 * list on chain. Empty for a mint without a hook. Throws DomainError AssetRejected if the list cannot be decoded or
 * resolved, or if it requires another signer. Errors of `view` are rethrown.
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
  // Token-2022 reads the list only if the transfer names it. Anyone can send lamports to the address of the list, so an
  // account without data is not a list.
  if (list === null || list.data.length === 0) return [{ address: mint.hookProgram, writable: false }];
  if (!isHookList(list.data))
    throw hookRejection(mint, 'has a list of extra accounts that cannot be decoded');
  const extra = await extraAccounts(view, mint, hook, transfer, new Map([[listAddress, list]]));
  if (extra.some((account) => account.isSigner)) throw hookRejection(mint, 'requires another signer');
  return extra.map(({ pubkey, isWritable }) => ({ address: pubkey.toBase58(), writable: isWritable }));
}

const EXECUTE_DISCRIMINATOR = Buffer.from([105, 37, 101, 197, 75, 251, 102, 26]);
const LIST_HEADER_BYTES = 16;
const ENTRY_BYTES = 35;

/** True for the account list of the hook's `Execute`: discriminator, u32 length, u32 count, then the entries. */
function isHookList(data: Uint8Array): boolean {
  if (
    data.length < LIST_HEADER_BYTES ||
    !EXECUTE_DISCRIMINATOR.equals(data.subarray(0, EXECUTE_DISCRIMINATOR.length))
  )
    return false;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const [length, count] = [view.getUint32(8, true), view.getUint32(12, true)];
  return length >= 4 + ENTRY_BYTES * count && data.length >= 12 + length;
}

async function extraAccounts(
  view: AccountView,
  mint: MintInfo,
  hook: PublicKey,
  { source, destination, amount, createAta, toVault }: HookedTransfer,
  accounts: Map<string, AccountInfo>,
) {
  const from = new PublicKey(deriveAta(source, mint.address, mint.program));
  const to = new PublicKey(deriveAta(destination, mint.address, mint.program, toVault));
  const [owner, token] = [new PublicKey(source), new PublicKey(mint.address)];
  if (createAta) accounts.set(to.toBase58(), newTokenAccount(mint, destination));
  const transferAccounts = [from, token, to, owner].map((pubkey) => ({
    pubkey,
    isSigner: false,
    isWritable: false,
  }));
  const instruction = new TransactionInstruction({ programId: hook, keys: [...transferAccounts] });
  const reader = readerOf(view, accounts);
  try {
    await addExtraAccountMetasForExecute(reader, instruction, hook, from, token, to, owner, amount);
  } catch (error) {
    if (error instanceof ReadError) throw error.cause;
    throw hookRejection(mint, 'has a list of extra accounts that cannot be resolved', error);
  }
  return instruction.keys.slice(transferAccounts.length);
}

/** The token account as the transaction creates it. Hooks can read this account. */
function newTokenAccount(mint: MintInfo, owner: string): AccountInfo {
  const data = newTokenAccountData(mint.address, owner);
  return { lamports: 0n, owner: mint.program, executable: false, data };
}

/** An error of the view, which spl-token passes on and {@link extraAccounts} rethrows. */
class ReadError extends Error {}

// spl-token expects a Connection, but calls only getAccountInfo.
function readerOf(view: AccountView, accounts: ReadonlyMap<string, AccountInfo>): Connection {
  const reader = {
    async getAccountInfo(key: PublicKey): Promise<Web3Account<Buffer> | null> {
      const account = accounts.get(key.toBase58()) ?? (await read(view, key.toBase58()));
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
    throw new ReadError('an account of a transfer hook could not be read', { cause: error });
  }
}

function hookRejection(mint: MintInfo, reason: string, cause?: unknown): DomainError {
  const { address, hookProgram } = mint;
  return new DomainError(
    'AssetRejected',
    `the transfer hook ${hookProgram} of mint ${address} ${reason}`,
    {},
    cause,
  );
}
