import type { StatusReason } from '../../domain/settlement.ts';
import type { TokenPolicy } from '../../domain/token-rules.ts';
import type { AccountInfo } from '../../solana/rpc/schemas.ts';
import type { MintInfo } from '../../solana/tokens/mint.ts';
import type { TokenAccountInfo } from '../../solana/tokens/token-account.ts';
import { tokenPolicy } from '../../solana/tokens/token-policy.ts';
import { isTokenProgram } from '../../solana/tx/programs.ts';

/**
 * Stricter than the rules for withdrawals, so that the seller gets exactly the price and keeps it. Wrapped SOL is
 * allowed.
 */
const SALE_RULES: TokenPolicy = {
  permanentDelegate: 'reject',
  pausableConfig: 'reject',
  confidentialTransferMint: 'reject',
  confidentialTransferFeeConfig: 'reject',
  confidentialMintBurn: 'reject',
  transferFeeConfig: 'inspect',
  wrappedSol: 'allow',
};

/**
 * Why this mint cannot be used for sales; null if it can. `policy` overrides rules by extension name; with
 * `transferFeeConfig: 'allow'`, a transfer fee is allowed too. A transfer hook is always refused, because scheme
 * `exact` has no accounts for its program.
 */
export function mintRefusal(mint: MintInfo, policy: TokenPolicy = {}): StatusReason | null {
  const { transferHook: _, ...rules } = { ...SALE_RULES, ...policy };
  const verdict = tokenPolicy(mint, null, '', rules);
  if (!verdict.ok) return verdict.reason;
  return rules['transferFeeConfig'] === 'allow' ? null : feeRefusal(mint);
}

/** Why `payTo` cannot receive this mint at its associated token account (`account`); null if it can. */
export function recipientRefusal(
  mint: MintInfo,
  account: TokenAccountInfo | null,
  payTo: string,
  policy: TokenPolicy = {},
): StatusReason | null {
  const refusal = mintRefusal(mint, policy);
  if (refusal !== null) return refusal;
  if (account === null)
    return {
      code: 'no_token_account',
      message: `${payTo} has no associated token account for mint ${mint.address}: create it`,
    };
  const verdict = tokenPolicy(mint, account, payTo, { ...SALE_RULES, ...policy });
  if (!verdict.ok) return verdict.reason;
  // The account requires a memo before the transfer; scheme `exact` allows one only after the transfer.
  if (!verdict.memoRequired) return null;
  return {
    code: 'memo_required',
    message: `the token account of ${payTo} requires a memo before each transfer, which x402 clients do not send`,
  };
}

/** Data length of a multisig account, which can own token accounts. No token account or mint has this length. */
const MULTISIG_BYTES = 355;

/**
 * Why `payTo` is not a wallet; null if it can be. `account`: what is at its address. The vault of a program is a wallet,
 * too. A token account is not: its associated token account could be paid by mistake.
 */
export function walletRefusal(payTo: string, account: AccountInfo | null): StatusReason | null {
  if (account === null || !isTokenProgram(account.owner) || account.data.length === MULTISIG_BYTES)
    return null;
  return {
    code: 'not_a_wallet',
    message: `${payTo} is a token account or a mint: set payTo to the address of the wallet`,
  };
}

/** Refuses a transfer fee of the current or a later epoch: the seller would receive less than the buyer pays. */
function feeRefusal({ transferFee }: MintInfo): StatusReason | null {
  if (transferFee === null) return null;
  const { olderTransferFee, newerTransferFee } = transferFee;
  const basisPoints = Math.max(
    olderTransferFee.transferFeeBasisPoints,
    newerTransferFee.transferFeeBasisPoints,
  );
  if (basisPoints === 0) return null;
  return {
    code: 'transfer_fee',
    message: `the mint withholds a fee of up to ${basisPoints} basis points from each transfer`,
  };
}
