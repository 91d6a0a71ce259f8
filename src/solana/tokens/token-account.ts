import { PublicKey } from '@solana/web3.js';
import { DomainError } from '../../domain/errors.ts';
import {
  ACCOUNT_SIZE,
  AccountLayout,
  AccountState,
  ExtensionType,
  getMemoTransfer,
  unpackAccount,
} from '../../shims/spl-token.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import { isTokenProgram, SYSTEM_PROGRAM } from '../tx/programs.ts';
import { extensionEntries, unpack } from './token-extensions.ts';

export interface TokenAccountInfo {
  readonly owner: string;
  readonly mint: string;
  readonly amount: bigint;
  readonly frozen: boolean;
  readonly memoRequired: boolean;
  /** False if a confidential account refuses ordinary transfers. */
  readonly acceptsTransfers: boolean;
  /** Confidential transfers that wait until the owner applies them; `amount` does not include them. */
  readonly pendingCredits: bigint;
}

/**
 * Reads the associated token account; null if it must be created (absent, or only lamports were sent to its address).
 * Throws DomainError AssetRejected if it is not a readable token account.
 */
export function readTokenAccount(address: string, account: AccountInfo | null): TokenAccountInfo | null {
  if (account === null || account.owner === SYSTEM_PROGRAM) return null;
  if (!isTokenProgram(account.owner))
    throw notATokenAccount(address, 'the token account belongs to another program');
  const read = unpack(unpackAccount, address, account);
  const entries = read === null ? null : extensionEntries(read.tlvData);
  if (read === null || entries === null) throw notATokenAccount(address, 'the token account cannot be read');
  const confidential = entries.find((entry) => entry.type === ExtensionType.ConfidentialTransferAccount);
  return {
    owner: read.owner.toBase58(),
    mint: read.mint.toBase58(),
    amount: read.amount,
    frozen: read.isFrozen,
    memoRequired: getMemoTransfer(read)?.requireIncomingTransferMemos ?? false,
    acceptsTransfers: confidential === undefined || confidential.data[NON_CONFIDENTIAL_CREDITS] !== 0,
    pendingCredits: confidential === undefined ? 0n : u64At(confidential.data, PENDING_CREDITS),
  };
}

// Offsets of allow_non_confidential_credits and pending_balance_credit_counter in Token-2022's
// ConfidentialTransferAccount.
const NON_CONFIDENTIAL_CREDITS = 262;
const PENDING_CREDITS = 263;

function u64At(data: Uint8Array, offset: number): bigint {
  if (data.byteLength < offset + 8) return 0n;
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getBigUint64(offset, true);
}

/** The base data of a new and empty token account, as its program will write it, without extensions. */
export function newTokenAccountData(mint: string, owner: string): Uint8Array {
  const data = Buffer.alloc(ACCOUNT_SIZE);
  const none = { delegateOption: 0 as const, isNativeOption: 0 as const, closeAuthorityOption: 0 as const };
  const empty = { amount: 0n, delegatedAmount: 0n, isNative: 0n, state: AccountState.Initialized };
  const noAuthorities = { delegate: PublicKey.default, closeAuthority: PublicKey.default };
  AccountLayout.encode(
    { mint: new PublicKey(mint), owner: new PublicKey(owner), ...empty, ...none, ...noAuthorities },
    data,
  );
  return data;
}

function notATokenAccount(address: string, reason: string): DomainError {
  return new DomainError('AssetRejected', `${address}: ${reason}`, { address });
}
