import { DomainError } from '../../domain/errors.ts';
import {
  AccountState,
  calculateEpochFee,
  getDefaultAccountState,
  getPausableConfig,
  getPermanentDelegate,
  getTransferFeeConfig,
  getTransferHook,
  type Mint,
  type TransferFeeConfig,
  unpackMint,
} from '../../shims/spl-token.ts';
import { MAX_ACCOUNT_BYTES } from '../rpc/methods.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import { isTokenProgram, SYSTEM_PROGRAM } from '../tx/programs.ts';
import { ataSize } from './ata.ts';
import { extensionEntries, extensionName, unpack } from './token-extensions.ts';

/** The fields of a mint that payments need. */
export interface MintInfo {
  readonly address: string;
  readonly program: string;
  readonly decimals: number;
  /** Names of the mint's Token-2022 extensions, as {@link extensionName} returns them. */
  readonly extensions: readonly string[];
  readonly transferFee: TransferFeeConfig | null;
  /** Address that can freeze any token account of the mint, including ours; null if there is none. */
  readonly freezeAuthority: string | null;
  /** Address that can transfer or burn the tokens of any holder; null if there is none. */
  readonly permanentDelegate: string | null;
  /** Program that Token-2022 calls in every transfer; null if there is none. */
  readonly hookProgram: string | null;
  /** True if new token accounts are frozen until the issuer thaws them. */
  readonly defaultFrozen: boolean;
  readonly paused: boolean;
  /** Bytes of a new associated token account for this mint. */
  readonly ataSize: number;
}

/** Reads a mint account. Throws DomainError AssetRejected if the account is missing, not a mint, or too large. */
export function readMint(address: string, account: AccountInfo | null): MintInfo {
  if (account === null)
    throw mintRejection(
      address,
      'the mint does not exist in finalized blocks: if it was created within the last minute, try again later',
    );
  if (!isTokenProgram(account.owner))
    throw mintRejection(address, 'the account does not belong to a token program');
  if (account.data.length >= MAX_ACCOUNT_BYTES)
    throw mintRejection(address, `the account is too large: it has ${MAX_ACCOUNT_BYTES} bytes or more`);
  const mint = unpack(unpackMint, address, account);
  if (mint === null || !mint.isInitialized) throw mintRejection(address, 'the account is not a mint');
  const entries = extensionEntries(mint.tlvData);
  if (entries === null) throw mintRejection(address, 'the extensions of the mint cannot be read');
  const hook = getTransferHook(mint)?.programId.toBase58() ?? SYSTEM_PROGRAM;
  return {
    address,
    program: account.owner,
    decimals: mint.decimals,
    extensions: entries.map((entry) => extensionName(entry.type)),
    transferFee: getTransferFeeConfig(mint),
    freezeAuthority: mint.freezeAuthority?.toBase58() ?? null,
    permanentDelegate: permanentDelegateOf(mint),
    hookProgram: hook === SYSTEM_PROGRAM ? null : hook,
    defaultFrozen: getDefaultAccountState(mint)?.state === AccountState.Frozen,
    paused: getPausableConfig(mint)?.paused ?? false,
    ataSize: ataSize(account.owner, new Set(entries.map((entry) => entry.type))),
  };
}

/** Null also if the mint has the extension but no delegate. */
function permanentDelegateOf(mint: Mint): string | null {
  const delegate = getPermanentDelegate(mint)?.delegate.toBase58() ?? SYSTEM_PROGRAM;
  return delegate === SYSTEM_PROGRAM ? null : delegate;
}

function mintRejection(address: string, reason: string): DomainError {
  return new DomainError('AssetRejected', `${address}: ${reason}`, { address });
}

/** Transfer fee in base units for a transfer of `amount` in `epoch`; null if the mint has no transfer fee. */
export function transferFee(mint: MintInfo, amount: bigint, epoch: bigint): bigint | null {
  return mint.transferFee === null ? null : calculateEpochFee(mint.transferFee, epoch, amount);
}
