import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import type { WatchKind } from '../../domain/deposit.ts';
import type { StatusReason } from '../../domain/settlement.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import { INCINERATOR, isTokenProgram, LOADERS, SYSTEM_PROGRAM } from '../tx/programs.ts';

const BASE58_TEXT = /^[1-9A-HJ-NP-Za-km-z]+$/;
const TOKEN_ACCOUNT_SIZE = 165;
const ACCOUNT_TYPE_MINT = 1;

/** May we pay to this? A funded wallet, an empty one, or the reason why never. */
export type Destination =
  /** `vault`: off-curve, owned by the System program, with SOL; a program signs for it, as for a multisig. */
  | { readonly kind: 'wallet' | 'empty' | 'vault' }
  | { readonly kind: 'rejected'; readonly reason: StatusReason };

/** `own`: the kind of the address if it is ours. `allowVaults`: default false. */
export interface DestinationRules {
  readonly own?: WatchKind | undefined;
  readonly allowVaults?: boolean;
}

/**
 * Classifies a destination address and its account (null if it does not exist). Our payment to a deposit address is
 * no deposit, so no user would be credited for it.
 * Source: docs/interface.md, Withdrawal rules 3 and 4.
 */
export function classifyDestination(
  address: string,
  account: AccountInfo | null,
  { own, allowVaults = false }: DestinationRules = {},
): Destination {
  const key = decodeAddress(address);
  if ('reason' in key) return { kind: 'rejected', reason: key.reason };
  if (own !== undefined) return OWN[own];
  if (address === INCINERATOR)
    return rejected('incinerator', 'whatever is paid to the incinerator is destroyed');
  const use = account === null ? null : otherUse(account);
  if (use !== null) return { kind: 'rejected', reason: use };
  const curve = curveClass(key.bytes);
  if (curve === 'off') return offCurve(account, allowVaults);
  if (curve === 'small')
    return rejected('small_order', 'the address is a point of small order: no private key exists for it');
  if (account === null || account.lamports === 0n) return { kind: 'empty' };
  if (account.owner !== SYSTEM_PROGRAM) {
    return rejected(
      'not_system_owned',
      `the account belongs to program ${account.owner}, so it is not a wallet`,
    );
  }
  if (account.data.length > 0)
    return rejected('has_data', 'the account holds data, so it is not a plain wallet');
  return { kind: 'wallet' };
}

function offCurve(account: AccountInfo | null, allowVaults: boolean): Destination {
  if (account === null) return OFF_CURVE;
  const { owner, data, lamports } = account;
  const isVault = owner === SYSTEM_PROGRAM && data.length === 0 && lamports > 0n;
  return allowVaults && isVault ? { kind: 'vault' } : PDA;
}

export function decodeAddress(
  address: string,
): { readonly bytes: Uint8Array } | { readonly reason: StatusReason } {
  if (!BASE58_TEXT.test(address)) {
    return { reason: { code: 'not_base58', message: 'the destination is not base58 text' } };
  }
  const wrong = { reason: { code: 'wrong_length', message: 'the destination does not decode to 32 bytes' } };
  if (address.length < 32 || address.length > 44) return wrong;
  const bytes = base58.decode(address);
  return bytes.length === 32 ? { bytes } : wrong;
}

const OWN = {
  hot: rejected('own_address', 'the destination is one of our own addresses'),
  deposit: rejected(
    'deposit_address',
    'the destination is a deposit address given out here: credit its user in your own books, a payment of ours is no deposit',
  ),
} as const;
const OFF_CURVE = rejected(
  'off_curve',
  'the address is not an ed25519 public key: no private key exists for it',
);
const PDA = rejected('pda', 'the address belongs to a program (program derived address), not to a person');

function rejected(code: string, message: string): Destination {
  return { kind: 'rejected', reason: { code, message } };
}

function otherUse(account: AccountInfo): StatusReason | null {
  if (account.executable || LOADERS.has(account.owner)) {
    return { code: 'program', message: 'the destination is a program' };
  }
  if (!isTokenProgram(account.owner)) return null;
  return isMint(account.data)
    ? { code: 'mint', message: 'the destination is the mint of a token: what is paid to it is lost' }
    : {
        code: 'token_account',
        message: 'the destination is a token account: give the address of its wallet',
      };
}

// Both token programs: a mint has 82 bytes. With extensions, the byte after the padded base gives the account type.
function isMint(data: Uint8Array): boolean {
  if (data.length < TOKEN_ACCOUNT_SIZE) return true;
  return data.length > TOKEN_ACCOUNT_SIZE && data[TOKEN_ACCOUNT_SIZE] === ACCOUNT_TYPE_MINT;
}

function curveClass(bytes: Uint8Array): 'off' | 'small' | 'good' {
  try {
    return ed25519.Point.fromBytes(bytes).isSmallOrder() ? 'small' : 'good';
  } catch {
    return 'off';
  }
}
