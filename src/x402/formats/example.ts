import type { Terms } from '../terms.ts';
import { jsonInteger } from './json.ts';

/** Accepted network names in X-PAYMENT, by cluster: those of the interface, then those of its real-world example. */
export const EXAMPLE_NETWORKS: Readonly<Record<Terms['network']['cluster'], readonly string[]>> = {
  devnet: ['chain-devnet', 'solana-devnet'],
  mainnet: ['chain-mainnet', 'solana-mainnet', 'solana'],
};

/**
 * The quote in a 402. Terms with a memo have no `quoteToken`: a transaction that its buyer sends has the memo of the
 * token as its only memo. Source: docs/interface.md, Payment protocol resources: Quote.
 */
export function quoteOf(terms: Terms, message: string, quoteToken: string) {
  const { payTo, tokenAccount, asset, amount, network, memo } = terms;
  return {
    recipientWallet: payTo,
    tokenAccount,
    mint: asset,
    ...amounts(amount),
    cluster: network.cluster,
    message,
    ...(memo === null ? { quoteToken } : { memo }),
  };
}

/** The body of a paid response. Source: docs/interface.md, Payment protocol resources: Paid response. */
export function paidResponse(
  data: string,
  paid: {
    readonly signature: string;
    readonly amount: bigint;
    readonly tokenAccount: string;
    readonly explorerUrl: string;
    /** The access pass that the payment bought. Null if there is none. */
    readonly accessPass: { readonly token: string; readonly expiresAt: Date } | null;
  },
) {
  const { signature, amount, tokenAccount: recipient, explorerUrl, accessPass } = paid;
  const details = { signature, ...amounts(amount), recipient, explorerUrl };
  if (accessPass === null) return { data, paymentDetails: details };
  const { token, expiresAt } = accessPass;
  return { data, paymentDetails: { ...details, accessPass: { token, expiresAt: expiresAt.toISOString() } } };
}

/** Base units, and whole tokens of a mint with 6 decimals under the two names that clients read. */
function amounts(amount: bigint) {
  const stable = Number(amount) / 1_000_000;
  return { amount: jsonInteger(amount), amountStable: stable, amountUSDC: stable };
}
