import { describeAmount } from '../domain/amount.ts';
import { waitsFor } from '../domain/attempt-progress.ts';
import type { AuditReport } from '../domain/audit.ts';
import { type BackfillResult, unreadText } from '../domain/backfill.ts';
import type { ReconciliationReport } from '../domain/reconciliation.ts';
import type { ScanStatus } from '../domain/scan.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { SettlementView } from './messages.ts';

/**
 * Current details in the Temporal Web UI, as markdown. Its frame shows three lines, and a signature fills
 * one: state and signature come first.
 */
export function progressCard(kind: string, purpose: string, view: SettlementView): string {
  const { reason, signature } = view;
  const attempt = signature === null ? '' : `, attempt ${view.attempts}: \`${signature}\``;
  const lines = [
    `**${view.status}**${attempt}`,
    `waits for ${waitsFor(kind, view.status, reason?.code)}`,
    ...(reason === null ? [] : [`reason: ${reason.message} (\`${reason.code}\`)`]),
    purpose,
  ];
  return lines.join(LINE_BREAK);
}

export function purposeOf(terms: WithdrawalTerms): string {
  return `pays ${describeAmount(terms, `\`${terms.asset}\``)} to \`${terms.destination}\``;
}

export function scanCard(status: ScanStatus): string {
  const { cursor, lag, blocksPerSecond, at } = status;
  const actor = status.state === 'paused' ? ` by ${status.actor}` : '';
  const pauseText = 'reason' in status ? `${actor} since ${status.since}: ${status.reason}` : '';
  const speed = blocksPerSecond === null ? [] : [`${blocksPerSecond.toFixed(1)} blocks/s`];
  const lagText = lag === null ? [] : [`${lag} behind`];
  const position =
    cursor === null ? 'before its first block' : [`at slot ${cursor.slot}`, ...lagText, ...speed].join(', ');
  const lines = [`**${status.state}**${pauseText}`, position, ...(at === null ? [] : [`reported at ${at}`])];
  return lines.join(LINE_BREAK);
}

export function reconciliationCard(report: ReconciliationReport): string {
  const { wallets, accounts, differences, unread, complete } = report;
  const verdict = differences === 0 ? 'chain and database agree' : `**${differences} differences**`;
  const lines = [
    `${wallets} wallets with ${accounts} accounts compared: ${verdict}`,
    ...(unread === 0 ? [] : [`${unread} wallets not read`]),
    ...(complete ? [] : ['the scan is behind: the next round continues']),
  ];
  return lines.join(LINE_BREAK);
}

export function backfillCard(result: BackfillResult): string {
  if (!('transactions' in result)) {
    const { blocks, found, unread } = result;
    const missing = countText(found, 'missing deposit');
    const lines = [
      `${countText(blocks, 'block')} read again: ${missing} found and recorded; see alerts \`deposit_missed\``,
      ...(unread.length === 0 ? [] : [`**not complete**: of closed gaps ${unreadText(unread)}`]),
    ];
    return lines.join(LINE_BREAK);
  }
  const { transactions, unread } = result;
  const lines = [
    `${countText(transactions, 'transaction')} read: ${verdictOf(result)}`,
    ...(unread === 0
      ? []
      : [`**not complete**, nodes did not return all (${unread} unread): see alert \`audit_incomplete\``]),
  ];
  return lines.join(LINE_BREAK);
}

function verdictOf({ found, remaining }: AuditReport): string {
  if (found === 0) return 'chain and database agree';
  if (remaining > 0) return `**${countText(remaining, 'difference')} not repaired**`;
  return `${countText(found, 'difference')} found and repaired`;
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Markdown line break: the Web UI joins other lines and gives a new paragraph an extra line. */
export const LINE_BREAK = '  \n';
