import type { Withdrawal, WithdrawalTerms } from '../../src/client/client.ts';
import type { ChainPayment } from './chain-truth.ts';

/** What the record says of one withdrawal at the end. */
export interface Claim {
  readonly terms: WithdrawalTerms;
  readonly status: string;
  /** Base units that arrived, where less than the amount does. */
  readonly amountReceived: string | null;
  readonly signatures: readonly string[];
}

/** What the finalized blocks say to a {@link Claim}. */
export interface ChainVerdict {
  readonly transfers: readonly ChainPayment[];
  /** It is finalized, and no transfer has the right asset and amount and went to the right wallet. */
  readonly lost: boolean;
  /** One line on how record and blocks differ; null where they agree on exactly one right transfer, or on none. */
  readonly fault: string | null;
}

export function claimOf(terms: WithdrawalTerms, { status, amountReceived, attempts }: Withdrawal): Claim {
  const signatures = attempts.flatMap(({ signature }) => (signature === null ? [] : [signature]));
  return { terms, status, amountReceived, signatures };
}

/** Holds a claim against `payments`, all that left the hot wallet. */
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
