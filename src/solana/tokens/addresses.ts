import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import type { WatchKind } from '../../domain/deposit.ts';
import type { StatusReason } from '../../domain/settlement.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import { INCINERATOR, isTokenProgram, LOADERS, SYSTEM_PROGRAM } from '../tx/programs.ts';

const BASE58_TEXT = /^[1-9A-HJ-NP-Za-km-z]+$/;
const TOKEN_ACCOUNT_SIZE = 165;
const ACCOUNT_TYPE_MINT = 1;

/** Whether an address can be paid. `empty`: a wallet address without lamports. */
export type Destination =
  /**
   * `vault`: an off-curve account of the System program with lamports, for which a program signs, such as a multisig.
   */
  | { readonly kind: 'wallet' | 'empty' | 'vault' }
  | { readonly kind: 'rejected'; readonly reason: StatusReason };

export interface DestinationRules {
  /** Kind of the address if it is one of our own. */
  readonly own?: WatchKind | undefined;
  /** Default false. */
  readonly allowVaults?: boolean;
}

/**
 * Classifies a destination by its address and its account (null if the account does not exist). A deposit address is
 * rejected: our own payments are not credited as deposits, so its user would receive nothing.
 * Source: docs/interface.md, Withdrawal rules 3 and 4.
 */
export function classifyDestination(
  address: string,
  account: AccountInfo | null,
  { own, allowVaults = false }: DestinationRules = {},
): Destination {
  const key = decodeAddress(address);
  if ('reason' in key) return { kind: 'rejected', reason: key.reason };
  if (own !== undefined) return OWN_ADDRESS_REJECTIONS[own];
  if (address === INCINERATOR)
    return rejection(
      'incinerator',
      'the destination is the incinerator, which destroys all funds that it receives',
    );
  const reason = account === null ? null : notAWalletReason(account);
  if (reason !== null) return { kind: 'rejected', reason };
  const curve = curveClass(key.bytes);
  if (curve === 'off') return offCurve(account, allowVaults);
  if (curve === 'small')
    return rejection(
      'small_order',
      'the destination is an ed25519 point of small order: no private key exists for it',
    );
  if (account === null || account.lamports === 0n) return { kind: 'empty' };
  if (account.owner !== SYSTEM_PROGRAM) {
    return rejection(
      'not_system_owned',
      `the destination is owned by program ${account.owner}, so it is not a wallet`,
    );
  }
  if (account.data.length > 0)
    return rejection('has_data', 'the account of the destination has data, so it is not a wallet');
  return { kind: 'wallet' };
}

function offCurve(account: AccountInfo | null, allowVaults: boolean): Destination {
  if (account === null) return OFF_CURVE_REJECTION;
  const { owner, data, lamports } = account;
  const isVault = owner === SYSTEM_PROGRAM && data.length === 0 && lamports > 0n;
  return allowVaults && isVault ? { kind: 'vault' } : PDA_REJECTION;
}

function decodeAddress(address: string): { readonly bytes: Uint8Array } | { readonly reason: StatusReason } {
  if (!BASE58_TEXT.test(address)) {
    return { reason: { code: 'not_base58', message: 'the destination is not valid base58' } };
  }
  const wrongLength = {
    reason: { code: 'wrong_length', message: 'the destination does not decode to 32 bytes' },
  };
  if (address.length < 32 || address.length > 44) return wrongLength;
  const bytes = base58.decode(address);
  return bytes.length === 32 ? { bytes } : wrongLength;
}

const OWN_ADDRESS_REJECTIONS = {
  hot: rejection('own_address', 'the destination is one of our own addresses'),
  deposit: rejection(
    'deposit_address',
    'the destination is one of your deposit addresses: credit its user in your own books instead, because a withdrawal to it would not be credited',
  ),
} as const;
const OFF_CURVE_REJECTION = rejection(
  'off_curve',
  'the destination is not an ed25519 public key: no private key exists for it',
);
const PDA_REJECTION = rejection(
  'pda',
  'the destination is a program derived address, which belongs to a program and not to a wallet',
);

function rejection(code: string, message: string): Destination {
  return { kind: 'rejected', reason: { code, message } };
}

function notAWalletReason(account: AccountInfo): StatusReason | null {
  if (account.executable || LOADERS.has(account.owner)) {
    return { code: 'program', message: 'the destination is a program' };
  }
  if (!isTokenProgram(account.owner)) return null;
  return isMint(account.data)
    ? { code: 'mint', message: 'the destination is the mint of a token: funds paid to it are lost' }
    : {
        code: 'token_account',
        message: 'the destination is a token account: use the address of the wallet that owns it',
      };
}

// For both token programs: a mint has 82 bytes. A mint with extensions is padded to the size of a token account, and
// the next byte is the account type.
function isMint(data: Uint8Array): boolean {
  if (data.length < TOKEN_ACCOUNT_SIZE) return true;
  return data.length > TOKEN_ACCOUNT_SIZE && data[TOKEN_ACCOUNT_SIZE] === ACCOUNT_TYPE_MINT;
}

function curveClass(bytes: Uint8Array): 'off' | 'small' | 'valid' {
  try {
    return ed25519.Point.fromBytes(bytes).isSmallOrder() ? 'small' : 'valid';
  } catch {
    return 'off';
  }
}
