import { describeAmount } from '../domain/amount.ts';
import { waitsFor } from '../domain/attempt-progress.ts';
import type { AuditReport } from '../domain/audit.ts';
import { type BackfillResult, unreadText } from '../domain/backfill.ts';
import type { ReconciliationReport } from '../domain/reconciliation.ts';
import type { ScanStatus } from '../domain/scan.ts';
import { definitionOf } from '../domain/settlement-kinds.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { SettlementView } from './messages.ts';

/**
 * Current details of a settlement in the Temporal Web UI, as markdown. The Web UI displays only three lines without
 * scrolling, so state and signature come first.
 */
export function progressCard(kind: string, purpose: string, view: SettlementView): string {
  const { reason, signature } = view;
  const attempt = signature === null ? '' : `, attempt ${view.attempts}: \`${signature}\``;
  const lines = [
    `**${view.status}**${attempt}`,
    `waits for ${waitsFor(definitionOf(kind).texts, view.status, reason?.code)}`,
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
  const lagText = lag === null ? [] : [`${lag} slots behind`];
  const position =
    cursor === null ? 'no block read yet' : [`at slot ${cursor.slot}`, ...lagText, ...speed].join(', ');
  const lines = [`**${status.state}**${pauseText}`, position, ...(at === null ? [] : [`reported at ${at}`])];
  return lines.join(LINE_BREAK);
}

export function reconciliationCard(report: ReconciliationReport): string {
  const { wallets, accounts, differences, unread, complete } = report;
  const verdict = differences === 0 ? 'chain and database agree' : `**${differences} differences**`;
  const lines = [
    `${wallets} wallets with ${accounts} accounts compared: ${verdict}`,
    ...(unread === 0 ? [] : [`${unread} wallets could not be compared`]),
    ...(complete ? [] : ['stopped because the scan is behind; the next round continues']),
  ];
  return lines.join(LINE_BREAK);
}

export function backfillCard(result: BackfillResult): string {
  if (!('transactions' in result)) {
    const { blocks, found, unread } = result;
    const missing = countText(found, 'missing deposit');
    const lines = [
      `${countText(blocks, 'block')} read again, ${missing} found and recorded; see the alerts \`deposit_missed\``,
      ...(unread.length === 0 ? [] : [`**not complete**: of closed gaps ${unreadText(unread)}`]),
    ];
    return lines.join(LINE_BREAK);
  }
  const { transactions, unread } = result;
  const lines = [
    `${countText(transactions, 'transaction')} read: ${verdictOf(result)}`,
    ...(unread === 0
      ? []
      : [
          `**not complete**: nodes did not return the whole history (${unread} unread); see the alert \`audit_incomplete\``,
        ]),
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

/** Markdown line break. The Web UI joins plain lines and adds space between paragraphs. */
export const LINE_BREAK = '  \n';
