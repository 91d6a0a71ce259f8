import {
  ACCOUNT_SIZE,
  AccountLayout,
  AccountState,
  ExtensionType,
  getAccountLen,
  getAssociatedTokenAddressSync,
  getDefaultAccountState,
  getEpochFee,
  getMemoTransfer,
  getPausableConfig,
  getTransferFeeConfig,
  getTransferHook,
  type TransferFeeConfig,
  unpackAccount,
  unpackMint,
} from '@solana/spl-token';
import { PublicKey, type AccountInfo as Web3Account } from '@solana/web3.js';
import { DomainError } from '../domain/errors.ts';
import { ATA_PROGRAM, isTokenProgram, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM } from './programs.ts';
import type { AccountInfo } from './rpc/schemas.ts';
import { extensionEntries, extensionName } from './token-extensions.ts';

/** A mint as a payout needs it. Fees are in base units. */
export interface MintInfo {
  readonly address: string;
  readonly program: string;
  readonly decimals: number;
  /** Names of its Token-2022 extensions; `unknown:<type>` for those this build does not know. */
  readonly extensions: readonly string[];
  readonly transferFee: TransferFeeConfig | null;
  /** The program called on every transfer, or null. */
  readonly hookProgram: string | null;
  readonly defaultFrozen: boolean;
  readonly paused: boolean;
  /** Bytes of an associated token account that is made for this mint now. */
  readonly ataSize: number;
}

/** A token account as a payout needs it. */
export interface TokenAccountInfo {
  readonly owner: string;
  readonly mint: string;
  readonly amount: bigint;
  readonly frozen: boolean;
  readonly memoRequired: boolean;
  /** False where a confidential account refuses ordinary transfers. */
  readonly acceptsTransfers: boolean;
}

/** Read a mint. Throws DomainError AssetRejected where the account is missing or no mint. */
export function readMint(address: string, account: AccountInfo | null): MintInfo {
  if (account === null) throw notAMint(address, 'there is no such account');
  if (!isTokenProgram(account.owner)) throw notAMint(address, 'it does not belong to a token program');
  const mint = parsed(() => unpackMint(key(address), web3Account(account), key(account.owner)));
  if (mint === null || !mint.isInitialized) throw notAMint(address, 'the account is not a mint');
  const entries = extensionEntries(mint.tlvData);
  if (entries === null) throw notAMint(address, 'its extensions cannot be read');
  const hook = getTransferHook(mint)?.programId.toBase58() ?? SYSTEM_PROGRAM;
  return {
    address,
    program: account.owner,
    decimals: mint.decimals,
    extensions: entries.map((entry) => extensionName(entry.type)),
    transferFee: getTransferFeeConfig(mint),
    hookProgram: hook === SYSTEM_PROGRAM ? null : hook,
    defaultFrozen: getDefaultAccountState(mint)?.state === AccountState.Frozen,
    paused: getPausableConfig(mint)?.paused ?? false,
    ataSize: ataSize(account.owner, new Set(entries.map((entry) => entry.type))),
  };
}

/** Read the associated token account; null where it has to be made (absent, or only lamports were sent to its address). */
export function readTokenAccount(address: string, account: AccountInfo | null): TokenAccountInfo | null {
  if (account === null || account.owner === SYSTEM_PROGRAM) return null;
  if (!isTokenProgram(account.owner)) throw notAMint(address, 'the token account belongs to another program');
  const read = parsed(() => unpackAccount(key(address), web3Account(account), key(account.owner)));
  const entries = read === null ? null : extensionEntries(read.tlvData);
  if (read === null || entries === null) throw notAMint(address, 'the token account cannot be read');
  const confidential = entries.find((entry) => entry.type === ExtensionType.ConfidentialTransferAccount);
  return {
    owner: read.owner.toBase58(),
    mint: read.mint.toBase58(),
    amount: read.amount,
    frozen: read.isFrozen,
    memoRequired: getMemoTransfer(read)?.requireIncomingTransferMemos ?? false,
    acceptsTransfers: confidential === undefined || confidential.data[NON_CONFIDENTIAL_CREDITS] !== 0,
  };
}

// Offset of allow_non_confidential_credits in Token-2022's ConfidentialTransferAccount.
const NON_CONFIDENTIAL_CREDITS = 262;

/** The associated token account of a wallet. Throws DomainError DestinationRejected where the owner is off the curve. */
export function deriveAta(owner: string, mint: string, program: string): string {
  try {
    return getAssociatedTokenAddressSync(
      key(mint),
      key(owner),
      false,
      key(program),
      key(ATA_PROGRAM),
    ).toBase58();
  } catch (error) {
    throw new DomainError(
      'DestinationRejected',
      `${owner} cannot own an associated token account`,
      {},
      error,
    );
  }
}

/** The part of a new and empty token account's data that all extensions share, as its program will write it. */
export function newTokenAccountData(mint: string, owner: string): Uint8Array {
  const data = Buffer.alloc(ACCOUNT_SIZE);
  const none = { delegateOption: 0 as const, isNativeOption: 0 as const, closeAuthorityOption: 0 as const };
  const empty = { amount: 0n, delegatedAmount: 0n, isNative: 0n, state: AccountState.Initialized };
  const nobody = { delegate: PublicKey.default, closeAuthority: PublicKey.default };
  AccountLayout.encode({ mint: key(mint), owner: key(owner), ...empty, ...none, ...nobody }, data);
  return data;
}

/** The bump of an associated token account: 255 minus the number of addresses that were tried and lay on the curve. */
export function ataBump(owner: string, mint: string, program: string): number {
  const seeds = [owner, program, mint].map((address) => key(address).toBuffer());
  return PublicKey.findProgramAddressSync(seeds, key(ATA_PROGRAM))[1];
}

/** Base units withheld when `amount` leaves a wallet in `epoch`; null where the mint has no transfer fee. */
export function transferFee(mint: MintInfo, amount: bigint, epoch: bigint): bigint | null {
  if (mint.transferFee === null) return null;
  const rate = getEpochFee(mint.transferFee, epoch);
  const raw = (amount * BigInt(rate.transferFeeBasisPoints) + 9_999n) / 10_000n;
  return raw > rate.maximumFee ? rate.maximumFee : raw;
}

/** Lamports that making the account costs: what is missing to its rent minimum. */
export function ataRent(account: AccountInfo | null, rentMinimum: bigint): bigint {
  const present = account?.lamports ?? 0n;
  return present >= rentMinimum ? 0n : rentMinimum - present;
}

// The ATA program adds ImmutableOwner under Token-2022; the mint's extensions demand the rest (confidential ones do not).
const ACCOUNT_EXTENSION_OF: readonly (readonly [mint: ExtensionType, account: ExtensionType])[] = [
  [ExtensionType.TransferFeeConfig, ExtensionType.TransferFeeAmount],
  [ExtensionType.NonTransferable, ExtensionType.NonTransferableAccount],
  [ExtensionType.TransferHook, ExtensionType.TransferHookAccount],
  [ExtensionType.PausableConfig, ExtensionType.PausableAccount],
];

function ataSize(program: string, types: ReadonlySet<number>): number {
  if (program !== TOKEN_2022_PROGRAM) return getAccountLen([]);
  const demanded = ACCOUNT_EXTENSION_OF.filter(([mint]) => types.has(mint)).map(([, account]) => account);
  return getAccountLen([ExtensionType.ImmutableOwner, ...demanded]);
}

function key(address: string): PublicKey {
  return new PublicKey(address);
}

function web3Account(account: AccountInfo): Web3Account<Buffer> {
  return {
    lamports: 0,
    owner: key(account.owner),
    data: Buffer.from(account.data),
    executable: account.executable,
  };
}

function parsed<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function notAMint(address: string, why: string): DomainError {
  return new DomainError('AssetRejected', `${address}: ${why}`, { address });
}
