import type { Withdrawal, WithdrawalTerms } from '../../src/client/client.ts';
import type { ChainPayment } from './chain-truth.ts';

/** A withdrawal by the API, at the end. */
export interface Claim {
  readonly terms: WithdrawalTerms;
  readonly status: string;
  /** Base units that arrived, if fewer than the amount. */
  readonly amountReceived: string | null;
  readonly signatures: readonly string[];
}

/** A {@link Claim} compared with the finalized blocks. */
export interface ChainVerdict {
  readonly transfers: readonly ChainPayment[];
  /** True if it is finalized, but no transfer has its asset, amount and wallet. */
  readonly lost: boolean;
  /** How API and blocks differ; null if both have exactly one correct transfer, or none. */
  readonly fault: string | null;
}

export function claimOf(terms: WithdrawalTerms, { status, amountReceived, attempts }: Withdrawal): Claim {
  const signatures = attempts.flatMap(({ signature }) => (signature === null ? [] : [signature]));
  return { terms, status, amountReceived, signatures };
}

/** Compares a claim with `payments`, all transfers from the hot wallet. */
export function judge(claim: Claim, payments: readonly ChainPayment[]): ChainVerdict {
  const { terms, status, signatures } = claim;
  const transfers = payments.filter(({ signature }) => signatures.includes(signature));
  const right = transfers.filter((transfer) => isRight(transfer, claim));
  const finalized = status === 'finalized';
  const agrees = finalized ? transfers.length === 1 && right.length === 1 : transfers.length === 0;
  const seen = transfers.map(({ received, asset, wallet }) => `${received} ${asset} to ${wallet}`).join(', ');
  const fault = `${terms.id} is ${status}, the blocks show: ${seen === '' ? 'nothing' : seen}`;
  return { transfers, lost: finalized && right.length === 0, fault: agrees ? null : fault };
}

export function strangersTo(
  claims: readonly Claim[],
  payments: readonly ChainPayment[],
): readonly ChainPayment[] {
  const known = new Set(claims.flatMap(({ signatures }) => signatures));
  return payments.filter(({ signature }) => !known.has(signature));
}

function isRight(payment: ChainPayment, { terms, amountReceived }: Claim): boolean {
  return (
    payment.wallet === terms.destination &&
    payment.asset === terms.asset &&
    payment.sent.toString() === terms.amount &&
    payment.received.toString() === (amountReceived ?? terms.amount)
  );
}
