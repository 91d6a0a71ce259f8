import type { ChainPayment } from '../src/localstack/chain-truth.ts';
import { type Claim, judge, strangersTo } from '../src/localstack/verdict.ts';

/** What the record, and Temporal, say of one withdrawal at the end. */
export interface Outcome extends Claim {
  readonly reason: string | null;
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
  const strangers = strangersTo(outcomes, payments);
  const verdicts = outcomes.map((outcome) => judge(outcome, payments));
  const unfinished = outcomes.filter(({ status }) => status !== 'finalized');
  const disagreeing = outcomes.filter(
    ({ status, workflow }) => status === 'finalized' && workflow !== 'COMPLETED',
  );
  const findings = [
    ...verdicts.flatMap(({ fault }) => (fault === null ? [] : [fault])),
    ...strangers.map(({ signature, wallet }) => `no withdrawal has transfer ${signature} to ${wallet}`),
    ...unfinished.map(({ terms, status, reason }) => `${terms.id} is ${status}: ${reason ?? 'no reason'}`),
    ...disagreeing.map(({ terms, workflow }) => `${terms.id} is finalized, its workflow is ${workflow}`),
    ...(openReservations === 0n ? [] : [`${openReservations} base units are still reserved`]),
  ];
  return {
    withdrawals: outcomes.length,
    finalized: outcomes.length - unfinished.length,
    transfersOnChain: payments.length,
    duplicates:
      strangers.length + verdicts.reduce((sum, { transfers }) => sum + Math.max(0, transfers.length - 1), 0),
    lost: verdicts.filter(({ lost }) => lost).length,
    findings,
  };
}
