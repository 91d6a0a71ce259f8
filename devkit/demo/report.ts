import type { Withdrawal } from '../../src/client/client.ts';
import type { ChainKind } from '../localstack/chain.ts';
import type { ChainPayment } from '../localstack/chain-truth.ts';
import type { Stack } from '../localstack/stack.ts';
import { claimOf, judge, unclaimedPayments } from '../localstack/verdict.ts';
import type { WithdrawalCase } from './customers.ts';
import type { DepositsReport } from './deposits.ts';
import type { ScannerKill, WorkerKill } from './kill.ts';
import type { SalesReport } from './sales.ts';
import type { GatewayKill } from './shopping.ts';
import type { DemoRow } from './table.ts';

export interface DemoReport {
  /** True if everything was paid, credited or served exactly as expected, and the processes were killed at the intended moments. */
  readonly ok: boolean;
  /** The chain, with the things that the demo cannot cover on it. */
  readonly chain: { readonly kind: ChainKind; readonly nodes: number; readonly leftOut: readonly string[] };
  readonly withdrawals: {
    readonly requested: number;
    readonly finalized: number;
    readonly transfersOnChain: number;
  };
  readonly rejected: { readonly code: string; readonly message: string } | null;
  readonly workerKilled: boolean;
  readonly kill: WorkerKill | null;
  readonly deposits: {
    readonly made: number;
    readonly credited: number;
    /** By reason. Failed transactions have no outcome and are not counted. */
    readonly notCredited: Readonly<Record<string, number>>;
    readonly scannerKilled: boolean;
    readonly kill: ScannerKill | null;
  };
  readonly x402: Pick<SalesReport, 'paid' | 'served' | 'replayed' | 'refusedDuplicates' | 'passes'> & {
    readonly gatewayKilled: boolean;
    readonly kill: GatewayKill | null;
  };
  readonly faults: readonly string[];
  readonly rows: readonly DemoRow[];
  readonly depositRows: readonly DemoRow[];
  readonly saleRows: readonly DemoRow[];
}

export interface FinishedWithdrawal {
  readonly request: WithdrawalCase;
  readonly result: Withdrawal;
}

/**
 * Compares each withdrawal with `payments`, all transfers from the hot wallet in the blocks. The reports of deposits and sales have been
 * compared with the blocks already.
 */
export function report(
  chain: DemoReport['chain'],
  paid: readonly FinishedWithdrawal[],
  rejected: FinishedWithdrawal,
  kill: WorkerKill | null,
  payments: readonly ChainPayment[],
  { faults: depositFaults, rows: depositRows, ...deposits }: DepositsReport,
  { faults: saleFaults, rows: saleRows, ...x402 }: SalesReport,
): DemoReport {
  const claims = paid.map(({ request, result }) => claimOf(request.terms, result));
  const verdicts = claims.map((claim) => judge(claim, payments));
  const unpaid = paid.filter(({ result }) => result.status !== 'finalized');
  const faults = [
    ...verdicts.flatMap(({ fault }) => (fault === null ? [] : [fault])),
    ...unpaid.map(({ request, result }) => `${request.what}: ${result.status}, not finalized`),
    ...unclaimedPayments(claims, payments).map(
      ({ signature }) => `no withdrawal has the transfer ${signature}`,
    ),
    ...(rejected.result.status === 'rejected' ? [] : [`${rejected.request.what}: not rejected`]),
    ...killFault(paid.at(-1), kill),
    ...depositFaults,
    ...saleFaults,
  ];
  return {
    ok: faults.length === 0,
    chain,
    withdrawals: {
      requested: paid.length,
      finalized: paid.length - unpaid.length,
      transfersOnChain: payments.length,
    },
    rejected: rejected.result.reason,
    workerKilled: kill !== null,
    kill,
    deposits: { ...deposits, scannerKilled: deposits.kill !== null },
    x402: { ...x402, gatewayKilled: x402.kill !== null },
    faults,
    rows: [
      ...paid.map((ended, index) => paidRow(ended, verdicts[index]?.transfers ?? [])),
      { ...row(rejected), received: [], note: rejected.result.reason?.message ?? '' },
    ],
    depositRows,
    saleRows,
  };
}

/** A validator is one node, and takes no orders to fail. */
const LEFT_OUT: Readonly<Record<ChainKind, readonly string[]>> = {
  localnet: [],
  validator: [
    'agreement of two nodes: one validator on loopback is a quorum of one',
    'faults that localnet has on order, such as lost sends, forks, gaps and lying nodes: `npm run chaos` shows them on localnet',
  ],
};

export function chainOf({ chainKind, rpcUrls }: Pick<Stack, 'chainKind' | 'rpcUrls'>): DemoReport['chain'] {
  const kind = chainKind ?? 'localnet';
  return { kind, nodes: rpcUrls.length, leftOut: LEFT_OUT[kind] };
}

/** The payment that lost its worker must be the transaction that was under way, and no later one. */
function killFault(last: FinishedWithdrawal | undefined, kill: WorkerKill | null): readonly string[] {
  if (kill === null) return ['no worker was killed between send and confirmation'];
  const signatures = last?.result.attempts.map(({ signature }) => signature) ?? [];
  return signatures.length === 1 && signatures[0] === kill.signature
    ? []
    : ['the withdrawal whose worker was killed was not paid by the transaction that was under way'];
}

function paidRow(ended: FinishedWithdrawal, payments: readonly ChainPayment[]): DemoRow {
  return {
    ...row(ended),
    received: payments.map(({ received }) => received),
    note: payments[0]?.signature ?? '',
  };
}

function row({ request, result }: FinishedWithdrawal): Omit<DemoRow, 'received' | 'note'> {
  const { asset, amount } = request.terms;
  return { what: request.what, status: result.status, asset, sent: BigInt(amount) };
}
