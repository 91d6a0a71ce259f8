import type { Withdrawal, WithdrawalTerms } from '../../src/client/client.ts';
import type { ChainPayment } from './chain-truth.ts';

export interface Claim {
  readonly terms: WithdrawalTerms;
  readonly status: string;
  /** Base units that arrived; null if they equal the amount. */
  readonly amountReceived: string | null;
  readonly signatures: readonly string[];
}

/** A {@link Claim} compared with the finalized blocks. */
export interface ChainVerdict {
  readonly transfers: readonly ChainPayment[];
  /** True if the withdrawal is finalized, but no transfer has its asset, amount and destination. */
  readonly lost: boolean;
  /** How API and blocks differ; null if the blocks have exactly one correct transfer, or none for an unpaid withdrawal. */
  readonly fault: string | null;
}

export function claimOf(terms: WithdrawalTerms, { status, amountReceived, attempts }: Withdrawal): Claim {
  const signatures = attempts.flatMap(({ signature }) => (signature === null ? [] : [signature]));
  return { terms, status, amountReceived, signatures };
}

/** Compares a claim with the blocks. `payments` are all transfers from the hot wallet. */
export function judge(claim: Claim, payments: readonly ChainPayment[]): ChainVerdict {
  const { terms, status, signatures } = claim;
  const transfers = payments.filter(({ signature }) => signatures.includes(signature));
  const correct = transfers.filter((transfer) => isCorrect(transfer, claim));
  const isFinalized = status === 'finalized';
  const agrees = isFinalized ? transfers.length === 1 && correct.length === 1 : transfers.length === 0;
  const found = transfers
    .map(({ received, asset, wallet }) => `${received} ${asset} to ${wallet}`)
    .join(', ');
  const fault = `${terms.id} is ${status}, the blocks have: ${found === '' ? 'no transfer' : found}`;
  return { transfers, lost: isFinalized && correct.length === 0, fault: agrees ? null : fault };
}

export function unclaimedPayments(
  claims: readonly Claim[],
  payments: readonly ChainPayment[],
): readonly ChainPayment[] {
  const claimed = new Set(claims.flatMap(({ signatures }) => signatures));
  return payments.filter(({ signature }) => !claimed.has(signature));
}

function isCorrect(payment: ChainPayment, { terms, amountReceived }: Claim): boolean {
  return (
    payment.wallet === terms.destination &&
    payment.asset === terms.asset &&
    payment.sent.toString() === terms.amount &&
    payment.received.toString() === (amountReceived ?? terms.amount)
  );
}
