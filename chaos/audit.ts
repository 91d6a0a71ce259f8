import type { WithdrawalTerms } from '../src/client/client.ts';
import type { ChainPayment } from '../src/localstack/chain-truth.ts';

/** What the record says of one withdrawal at the end. */
export interface Outcome {
  readonly terms: WithdrawalTerms;
  readonly status: string;
  readonly reason: string | null;
  /** Base units that arrived, where less than the amount does. */
  readonly amountReceived: string | null;
  /** Signatures of all its attempts. */
  readonly signatures: readonly string[];
  /** How its workflow ended, as Temporal has it: `COMPLETED`, `RUNNING`, `none` … */
  readonly workflow: string;
}

/** What the blocks say against the record. Every list is empty where all is well. */
export interface Audit {
  readonly withdrawals: number;
  readonly finalized: number;
  readonly transfersOnChain: number;
  /** Transfers that should not be: a second one for a withdrawal, or one that belongs to none. */
  readonly duplicates: number;
  /** Finalized withdrawals without a transfer of the exact amount to the right wallet. */
  readonly lost: number;
  /** One line for each thing that is wrong. */
  readonly findings: readonly string[];
}

/** Judges a run from the transfers in its blocks; `openReservations` is what Postgres still keeps back, in base units. */
export function audit(
  outcomes: readonly Outcome[],
  payments: readonly ChainPayment[],
  openReservations: bigint,
): Audit {
  const known = new Set(outcomes.flatMap(({ signatures }) => signatures));
  const strangers = payments.filter(({ signature }) => !known.has(signature));
  const judged = outcomes.map((outcome) => judge(outcome, payments));
  const unfinished = outcomes.filter(({ status }) => status !== 'finalized');
  const disagreeing = outcomes.filter(
    ({ status, workflow }) => status === 'finalized' && workflow !== 'COMPLETED',
  );
  const findings = [
    ...judged.flatMap(({ finding }) => (finding === null ? [] : [finding])),
    ...strangers.map(({ signature, wallet }) => `no withdrawal has transfer ${signature} to ${wallet}`),
    ...unfinished.map(({ terms, status, reason }) => `${terms.id} is ${status}: ${reason ?? 'no reason'}`),
    ...disagreeing.map(({ terms, workflow }) => `${terms.id} is finalized, its workflow is ${workflow}`),
    ...(openReservations === 0n ? [] : [`${openReservations} base units are still reserved`]),
  ];
  return {
    withdrawals: outcomes.length,
    finalized: outcomes.length - unfinished.length,
    transfersOnChain: payments.length,
    duplicates: strangers.length + judged.reduce((sum, { extra }) => sum + extra, 0),
    lost: judged.filter(({ lost }) => lost).length,
    findings,
  };
}

function judge(
  outcome: Outcome,
  payments: readonly ChainPayment[],
): { readonly extra: number; readonly lost: boolean; readonly finding: string | null } {
  const { terms, status, signatures } = outcome;
  const paid = payments.filter(({ signature }) => signatures.includes(signature));
  const extra = Math.max(0, paid.length - 1);
  const exact = paid.length === 1 && paid.every((payment) => isExact(payment, outcome));
  if (status === 'finalized' && exact) return { extra, lost: false, finding: null };
  if (status !== 'finalized' && paid.length === 0) return { extra, lost: false, finding: null };
  const seen = paid.map(({ received, wallet }) => `${received} to ${wallet}`).join(', ');
  const finding = `${terms.id} is ${status}, the blocks show: ${seen === '' ? 'nothing' : seen}`;
  return { extra, lost: status === 'finalized' && !paid.some((one) => isExact(one, outcome)), finding };
}

function isExact(payment: ChainPayment, { terms, amountReceived }: Outcome): boolean {
  return (
    payment.wallet === terms.destination &&
    payment.asset === terms.asset &&
    payment.received.toString() === (amountReceived ?? terms.amount)
  );
}
