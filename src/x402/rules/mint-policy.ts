import type { StatusReason } from '../../domain/settlement.ts';
import type { TokenPolicy } from '../../domain/token-rules.ts';
import type { MintInfo } from '../../solana/tokens/mint.ts';
import type { TokenAccountInfo } from '../../solana/tokens/token-account.ts';
import { tokenPolicy } from '../../solana/tokens/token-policy.ts';

/** Stricter than for withdrawals: exactly the price must arrive and stay. Wrapped SOL is an ordinary token. */
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
 * Why this mint cannot be used for sales; null if it can. `policy` overrides single rules by extension name:
 * `transferFeeConfig: 'allow'` permits a fee too. A hook program is always refused: `exact` has no accounts for it.
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
      message: `${payTo} has no associated token account for ${mint.address}: create it`,
    };
  const verdict = tokenPolicy(mint, account, payTo, { ...SALE_RULES, ...policy });
  if (!verdict.ok) return verdict.reason;
  // The account requires the memo before the transfer; `exact` has it after the transfer.
  if (!verdict.memoRequired) return null;
  return {
    code: 'memo_required',
    message: `the token account of ${payTo} requires a memo before each transfer, which x402 clients do not send`,
  };
}

/** A fee of the current or a later epoch: the seller would receive less than the buyer pays. */
function feeRefusal({ transferFee }: MintInfo): StatusReason | null {
  if (transferFee === null) return null;
  const { olderTransferFee, newerTransferFee } = transferFee;
  const points = Math.max(olderTransferFee.transferFeeBasisPoints, newerTransferFee.transferFeeBasisPoints);
  if (points === 0) return null;
  return {
    code: 'transfer_fee',
    message: `the token withholds a fee of up to ${points} basis points of every transfer`,
  };
}
