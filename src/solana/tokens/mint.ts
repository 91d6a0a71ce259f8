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

/** A mint with the fields that payments need. Fees are in base units. */
export interface MintInfo {
  readonly address: string;
  readonly program: string;
  readonly decimals: number;
  /** Names of its Token-2022 extensions; `unknown:<type>` for types that this build does not know. */
  readonly extensions: readonly string[];
  readonly transferFee: TransferFeeConfig | null;
  /** Can freeze any token account of the mint, including ours; null if there is none. */
  readonly freezeAuthority: string | null;
  /** Can take or burn the tokens of any holder; null if there is none. */
  readonly permanentDelegate: string | null;
  /** The program called on every transfer, or null. */
  readonly hookProgram: string | null;
  readonly defaultFrozen: boolean;
  readonly paused: boolean;
  /** Bytes of a new associated token account for this mint. */
  readonly ataSize: number;
}

/** Reads a mint. Throws DomainError AssetRejected if the account is missing, not a mint, or too large. */
export function readMint(address: string, account: AccountInfo | null): MintInfo {
  if (account === null)
    throw notAMint(
      address,
      'no finalized block shows such a mint; one that was made within the last minute is not final yet',
    );
  if (!isTokenProgram(account.owner)) throw notAMint(address, 'it does not belong to a token program');
  if (account.data.length >= MAX_ACCOUNT_BYTES)
    throw notAMint(address, `it has ${MAX_ACCOUNT_BYTES} bytes or more`);
  const mint = unpack(unpackMint, address, account);
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
    freezeAuthority: mint.freezeAuthority?.toBase58() ?? null,
    permanentDelegate: permanentDelegateOf(mint),
    hookProgram: hook === SYSTEM_PROGRAM ? null : hook,
    defaultFrozen: getDefaultAccountState(mint)?.state === AccountState.Frozen,
    paused: getPausableConfig(mint)?.paused ?? false,
    ataSize: ataSize(account.owner, new Set(entries.map((entry) => entry.type))),
  };
}

/** The extension may exist without a delegate. */
function permanentDelegateOf(mint: Mint): string | null {
  const delegate = getPermanentDelegate(mint)?.delegate.toBase58() ?? SYSTEM_PROGRAM;
  return delegate === SYSTEM_PROGRAM ? null : delegate;
}

function notAMint(address: string, reason: string): DomainError {
  return new DomainError('AssetRejected', `${address}: ${reason}`, { address });
}

/** Base units withheld when `amount` leaves a wallet in `epoch`; null if the mint has no transfer fee. */
export function transferFee(mint: MintInfo, amount: bigint, epoch: bigint): bigint | null {
  return mint.transferFee === null ? null : calculateEpochFee(mint.transferFee, epoch, amount);
}
