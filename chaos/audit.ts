import type { Books } from '../devkit/localstack/books.ts';
import type { ChainPayment } from '../devkit/localstack/chain-truth.ts';
import { type Claim, judge, unclaimedPayments } from '../devkit/localstack/verdict.ts';
import { feeFindings } from './fees.ts';

/** The state of one withdrawal in the database and in Temporal at the end. */
export interface Outcome extends Claim {
  readonly reason: string | null;
  /** The result of its workflow if it completed, else the workflow's status in Temporal (`RUNNING`, `TERMINATED`) or `none`. */
  readonly workflow: string;
}

/** The states of withdrawals and the transfers that the audit compares. */
export interface WithdrawalEvidence {
  readonly outcomes: readonly Outcome[];
  /** All transfers from the hot wallet in the blocks. */
  readonly payments: readonly ChainPayment[];
  readonly books: Books;
  /** Other faults of the run, one line each. */
  readonly alarms: readonly string[];
}

/** The differences between the blocks and the database. All lists are empty if there are none. */
export interface Audit {
  readonly withdrawals: number;
  readonly finalized: number;
  readonly transfersOnChain: number;
  /** Transfers that must not exist: a second one for a withdrawal, or one without a withdrawal. */
  readonly duplicates: number;
  /** Finalized withdrawals without a transfer of the exact amount to the right wallet. */
  readonly lost: number;
  /** Number of attempts that were proved dead and replaced. */
  readonly deadAttempts: number;
  /** One line for each fault. */
  readonly findings: readonly string[];
}

/** Judges a run from the transfers in its blocks. */
export function audit({ outcomes, payments, books, alarms }: WithdrawalEvidence): Audit {
  const strangers = unclaimedPayments(outcomes, payments);
  const verdicts = outcomes.map((outcome) => judge(outcome, payments));
  const unfinished = outcomes.filter(({ status }) => status !== 'finalized');
  const disagreeing = outcomes.filter(
    ({ status, workflow }) => status === 'finalized' && workflow !== status,
  );
  const findings = [
    ...verdicts.flatMap(({ fault }) => (fault === null ? [] : [fault])),
    ...strangers.map(({ signature, wallet }) => `no withdrawal has transfer ${signature} to ${wallet}`),
    ...unfinished.map(({ terms, status, reason }) => `${terms.id} is ${status}: ${reason ?? 'no reason'}`),
    ...disagreeing.map(({ terms, workflow }) => `${terms.id} is finalized, its workflow is ${workflow}`),
    ...booksFindings(books),
    ...feeFindings(outcomes, books.fees),
    ...alarms,
  ];
  return {
    withdrawals: outcomes.length,
    finalized: outcomes.length - unfinished.length,
    transfersOnChain: payments.length,
    duplicates:
      strangers.length + verdicts.reduce((sum, { transfers }) => sum + Math.max(0, transfers.length - 1), 0),
    lost: verdicts.filter(({ lost }) => lost).length,
    deadAttempts: books.dead,
    findings,
  };
}

/** Every transaction of the hot wallet, including failed ones, is recorded with its cost, and nothing is left open. */
function booksFindings({ chain, record, live, openReservations }: Books): readonly string[] {
  const signatures = [...new Set([...Object.keys(chain), ...Object.keys(record)])];
  const differing = signatures.filter((signature) => chain[signature] !== record[signature]);
  const lamports = (spent: bigint | undefined): string =>
    spent === undefined ? 'nothing' : `${spent} lamports`;
  return [
    ...differing.map(
      (one) => `${one} cost ${lamports(chain[one])} on chain, ${lamports(record[one])} in the database`,
    ),
    ...(live === 0 ? [] : [`${live} attempts may still land`]),
    ...(openReservations === 0n ? [] : [`${openReservations} base units are still reserved`]),
  ];
}
