import type { ChainPayment, IncomingTransfer } from '../devkit/localstack/chain-truth.ts';
import type { Alarm, AlertKind } from '../src/domain/alerts.ts';
import type { Ledger } from '../src/ledger/ledger.ts';

/** Alerts which mean that money is missing or the database is wrong. */
const MONEY_ALERTS: ReadonlySet<AlertKind> = new Set([
  'unknown_spend',
  'maybe_paid',
  'dead_attempt_landed',
  'attempt_lost',
  'database_restored',
  'workflow_failed',
  'deposit_mismatch',
  'deposit_missed',
  'balance_difference',
]);

const PAGE_SIZE = 200;
const QUORUM = 2;

/** The part of the finalized chain that alerts about amounts refer to. */
export interface ChainAmounts {
  readonly arrivals: readonly Pick<IncomingTransfer, 'signature' | 'asset' | 'amount'>[];
  readonly payments: readonly Pick<ChainPayment, 'signature' | 'asset' | 'sent'>[];
}

/** All alerts about money, including closed ones. */
export async function readMoneyAlerts(ledger: Ledger): Promise<readonly Alarm[]> {
  const raised: Alarm[] = [];
  for (let cursor: string | undefined; ; ) {
    const { rows, nextCursor } = await ledger.alerts.list({ limit: PAGE_SIZE, cursor });
    raised.push(...rows.filter(({ kind }) => MONEY_ALERTS.has(kind)));
    if (nextCursor === null) return raised;
    cursor = nextCursor;
  }
}

/** One line for each alert, except those that a lie of the driver must raise. */
export function alertFindings(alerts: readonly Alarm[], chain: ChainAmounts): readonly string[] {
  return alerts
    .filter((alert) => !reportsOneLie(alert, chain))
    .map(({ kind, message }) => `${kind}: ${message}`);
}

/**
 * True if one node returned a false amount (`false-block`) and the database has the true amount: a quorum corrected the false amount
 * before it was credited, or the recorded amount stayed. Source: docs/decisions/0014-deposit-scan.md "The second node".
 */
function reportsOneLie(
  { kind, subject, details = {} }: Alarm,
  { arrivals, payments }: ChainAmounts,
): boolean {
  if (kind !== 'deposit_mismatch' || details.state === 'dropped') return false;
  const { asset, by, read, stored: recorded } = details;
  if (by !== undefined && !(Array.isArray(by) && by.length >= QUORUM)) return false;
  const kept = by === undefined ? recorded : read;
  const amounts = [
    ...arrivals,
    ...payments.map(({ signature, asset: paid, sent }) => ({ signature, asset: paid, amount: sent })),
  ];
  return amounts.some(
    (one) => one.signature === subject && one.asset === asset && one.amount.toString() === kept,
  );
}
