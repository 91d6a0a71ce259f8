import type { Withdrawal } from '../../client/client.ts';
import type { ChainPayment } from '../../localstack/chain-truth.ts';
import type { Case } from './customers.ts';
import type { Kill } from './kill.ts';
import type { DemoRow } from './table.ts';

/** What the demo has shown. */
export interface DemoReport {
  /** Everything that should be paid is paid exactly once, nothing else is, and the worker was killed when it hurts. */
  readonly ok: boolean;
  readonly withdrawals: {
    readonly requested: number;
    readonly finalized: number;
    readonly transfersOnChain: number;
  };
  readonly rejected: { readonly code: string; readonly message: string } | null;
  readonly workerKilled: boolean;
  readonly kill: Kill | null;
  /** What is missing for `ok`, a line each. */
  readonly faults: readonly string[];
  readonly rows: readonly DemoRow[];
}

/** A withdrawal and how it ended. */
export interface Outcome {
  readonly asked: Case;
  readonly result: Withdrawal;
}

/** Holds what the API says of each withdrawal against `payments`, all that left the hot wallet as the blocks show it. */
export function judge(
  paid: readonly Outcome[],
  rejected: Outcome,
  kill: Kill | null,
  payments: readonly ChainPayment[],
): DemoReport {
  const finalized = paid.filter(({ result }) => result.status === 'finalized').length;
  const faults = [
    ...paid.flatMap((outcome) => faultOf(outcome, paymentsFor(outcome, payments))),
    ...(payments.length === paid.length
      ? []
      : [`${payments.length} transfers left the hot wallet, not ${paid.length}`]),
    ...(rejected.result.status === 'rejected' ? [] : [`${rejected.asked.what}: not rejected`]),
    ...killFault(paid.at(-1), kill),
  ];
  return {
    ok: faults.length === 0,
    withdrawals: { requested: paid.length, finalized, transfersOnChain: payments.length },
    rejected: rejected.result.reason,
    workerKilled: kill !== null,
    kill,
    faults,
    rows: [
      ...paid.map((outcome) => paidRow(outcome, paymentsFor(outcome, payments))),
      { ...row(rejected), onChain: '0', note: rejected.result.reason?.message ?? '' },
    ],
  };
}

function paymentsFor({ result }: Outcome, payments: readonly ChainPayment[]): readonly ChainPayment[] {
  return payments.filter(({ signature }) =>
    result.attempts.some((attempt) => attempt.signature === signature),
  );
}

function faultOf({ asked, result }: Outcome, payments: readonly ChainPayment[]): readonly string[] {
  const [payment] = payments;
  if (result.status !== 'finalized') return [`${asked.what}: ${result.status}, not finalized`];
  if (payment === undefined || payments.length > 1)
    return [`${asked.what}: ${payments.length} transfers, not one`];
  const right =
    payment.wallet === asked.terms.destination &&
    payment.asset === asked.terms.asset &&
    payment.received.toString() === (result.amountReceived ?? asked.terms.amount);
  return right ? [] : [`${asked.what}: ${payment.received} of ${payment.asset} went to ${payment.wallet}`];
}

/** The payment that lost its worker must be the transaction that was under way, and no later one. */
function killFault(last: Outcome | undefined, kill: Kill | null): readonly string[] {
  if (kill === null) return ['no worker was killed between send and confirmation'];
  const signatures = last?.result.attempts.map(({ signature }) => signature) ?? [];
  return signatures.length === 1 && signatures[0] === kill.signature
    ? []
    : ['the withdrawal whose worker was killed was not paid by the transaction that was under way'];
}

function paidRow(outcome: Outcome, payments: readonly ChainPayment[]): DemoRow {
  const received = payments.map((payment) => payment.received.toString()).join(' + ');
  return {
    ...row(outcome),
    onChain: `${payments.length} x ${received}`,
    note: payments[0]?.signature ?? '',
  };
}

function row({ asked, result }: Outcome): Pick<DemoRow, 'what' | 'status' | 'sent'> {
  return { what: asked.what, status: result.status, sent: asked.terms.amount };
}
