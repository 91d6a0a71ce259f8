import type { Command } from '@commander-js/extra-typings';
import type { OpenReconciliation, Reconciliation } from '../client/client.ts';
import { inColumns } from './columns.ts';
import { apiCommand, call } from './command.ts';
import { EXIT } from './exit.ts';

const MAX_LISTED = 10;
const NEVER_RAN =
  'the reconciliation has never run: check the chain workers, and the schedule `reconciliation` in the Temporal Web UI';

export function registerReconciliation(program: Command): void {
  const reconciliation = program
    .command('reconciliation')
    .description('Compare balances on chain with the database');
  apiCommand(reconciliation, 'status', 'Show the newest comparison; exit code 6 if a balance differs').action(
    (options) => call(options, (sluice) => sluice.reconciliation(), render, exitOf),
  );
}

/** Exit code 5 if no pass has completed, or if a wallet could not be compared. */
function exitOf({ last, open, unread }: Reconciliation): number {
  if ((last?.differences ?? 0) + (open?.differences ?? 0) > 0) return EXIT.differs;
  return last === null || unread > 0 ? EXIT.unavailable : EXIT.ok;
}

function render(reconciliation: Reconciliation): string {
  const { last, open } = reconciliation;
  if (last === null && open === null) return NEVER_RAN;
  return [
    ...lastPassLines(reconciliation),
    ...openPassLines(reconciliation),
    ...unreadLines(reconciliation),
  ].join('\n');
}

function lastPassLines({ last }: Reconciliation): readonly string[] {
  if (last === null) return ['no pass has ended yet'];
  return [`last pass began ${last.begunAt} and ended ${last.endedAt}`, ...comparisonLines(last)];
}

function openPassLines({ open, watched }: Reconciliation): readonly string[] {
  if (open === null) return ['no pass is running: one begins every hour'];
  const place = open.after === null ? 'at its beginning' : `after wallet ${open.after}`;
  return [
    `pass running since ${open.begunAt}, ${place}; ${countText(watched, 'wallet')} in all`,
    ...comparisonLines(open),
    ...(open.haltedBecause === null ? [] : [`  halted    ${open.haltedBecause}: the next round continues`]),
  ];
}

type Counts = Pick<OpenReconciliation, 'wallets' | 'accounts' | 'differences'>;

function comparisonLines({ wallets, accounts, differences }: Counts): readonly string[] {
  const verdict =
    differences === 0
      ? 'chain and database agree'
      : `${countText(differences, 'account')} with a difference: see \`sluice alerts list\``;
  return [
    `  compared  ${countText(wallets, 'wallet')}, ${countText(accounts, 'account')}`,
    ...(wallets === 0 ? [] : [`  verdict   ${verdict}`]),
  ];
}

function unreadLines({ unread, longestUnread }: Reconciliation): readonly string[] {
  if (unread === 0) return ['no wallet failed its last comparison'];
  const listed = longestUnread
    .slice(0, MAX_LISTED)
    .map(({ wallet, since, reason }) => [wallet, since, reason]);
  const more = unread > listed.length ? [`  and ${unread - listed.length} more`] : [];
  const rows = inColumns([['wallet', 'since', 'reason'], ...listed]).map((line) => `  ${line}`);
  return [
    `${countText(unread, 'wallet')} could not be compared; Sluice tries again every hour:`,
    ...rows,
    ...more,
  ];
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
