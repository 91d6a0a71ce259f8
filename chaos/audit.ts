import type { Books } from '../devkit/localstack/books.ts';
import type { ChainPayment } from '../devkit/localstack/chain-truth.ts';
import { type Claim, judge, unclaimedPayments } from '../devkit/localstack/verdict.ts';
import { feeFindings } from './fees.ts';

/** The state of one withdrawal in the database and in Temporal at the end. */
export interface Outcome extends Claim {
  readonly reason: string | null;
  /** The status with which its workflow completed, else how it is, as Temporal has it: `RUNNING`, `TERMINATED`, `none` … */
  readonly workflow: string;
}

/** Everything that is held against each other. */
export interface Evidence {
  readonly outcomes: readonly Outcome[];
  /** All that left the hot wallet, from the blocks. */
  readonly payments: readonly ChainPayment[];
  readonly books: Books;
  /** Whatever else must not have been, a line each. */
  readonly alarms: readonly string[];
}

/** The differences between the blocks and the database. Every list is empty if all is well. */
export interface Audit {
  readonly withdrawals: number;
  readonly finalized: number;
  readonly transfersOnChain: number;
  /** Transfers that should not be: a second one for a withdrawal, or one that belongs to none. */
  readonly duplicates: number;
  /** Finalized withdrawals without a transfer of the exact amount to the right wallet. */
  readonly lost: number;
  /** Attempts that were proved dead, so that others took their place. */
  readonly deadAttempts: number;
  /** One line for each thing that is wrong. */
  readonly findings: readonly string[];
}

/** Judges a run from the transfers in its blocks. */
export function audit({ outcomes, payments, books, alarms }: Evidence): Audit {
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
