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
  /** Number of confidential transfers that the owner has not applied yet. `amount` does not include these. */
  readonly pendingCredits: bigint;
}

/**
 * Reads an associated token account. Null if the account must be created: it does not exist, or its address has only
 * received lamports. Throws DomainError AssetRejected if the account is not a readable token account.
 */
export function readTokenAccount(address: string, account: AccountInfo | null): TokenAccountInfo | null {
  if (account === null || account.owner === SYSTEM_PROGRAM) return null;
  if (!isTokenProgram(account.owner))
    throw tokenAccountRejection(address, 'the account does not belong to a token program');
  const unpacked = unpack(unpackAccount, address, account);
  const entries = unpacked === null ? null : extensionEntries(unpacked.tlvData);
  if (unpacked === null || entries === null)
    throw tokenAccountRejection(address, 'the token account cannot be read');
  const confidential = entries.find((entry) => entry.type === ExtensionType.ConfidentialTransferAccount);
  return {
    owner: unpacked.owner.toBase58(),
    mint: unpacked.mint.toBase58(),
    amount: unpacked.amount,
    frozen: unpacked.isFrozen,
    memoRequired: getMemoTransfer(unpacked)?.requireIncomingTransferMemos ?? false,
    acceptsTransfers: confidential === undefined || confidential.data[ALLOW_NON_CONFIDENTIAL_OFFSET] !== 0,
    pendingCredits: confidential === undefined ? 0n : u64At(confidential.data, PENDING_CREDITS_OFFSET),
  };
}

// Offsets of allow_non_confidential_credits and pending_balance_credit_counter in Token-2022's
// ConfidentialTransferAccount.
const ALLOW_NON_CONFIDENTIAL_OFFSET = 262;
const PENDING_CREDITS_OFFSET = 263;

function u64At(data: Uint8Array, offset: number): bigint {
  if (data.byteLength < offset + 8) return 0n;
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getBigUint64(offset, true);
}

/** Data of a new, empty token account as the token program writes it, without extensions. */
export function newTokenAccountData(mint: string, owner: string): Uint8Array {
  const data = Buffer.alloc(ACCOUNT_SIZE);
  const noOptions = {
    delegateOption: 0 as const,
    isNativeOption: 0 as const,
    closeAuthorityOption: 0 as const,
  };
  const empty = { amount: 0n, delegatedAmount: 0n, isNative: 0n, state: AccountState.Initialized };
  const noAuthorities = { delegate: PublicKey.default, closeAuthority: PublicKey.default };
  AccountLayout.encode(
    { mint: new PublicKey(mint), owner: new PublicKey(owner), ...empty, ...noOptions, ...noAuthorities },
    data,
  );
  return data;
}

function tokenAccountRejection(address: string, reason: string): DomainError {
  return new DomainError('AssetRejected', `${address}: ${reason}`, { address });
}
