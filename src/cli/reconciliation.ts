import type { Command } from '@commander-js/extra-typings';
import type { ReconciledWallets, Reconciliation } from '../client/client.ts';
import { inColumns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';

const SHOWN = 10;
const NEVER =
  'never ran: look at the chain workers, and at the schedule `reconciliation` in the Temporal Web UI';

/** `sluice reconciliation`: whether balances on chain are what the record says, and how far that was looked at. */
export function registerReconciliation(program: Command): void {
  program
    .command('reconciliation')
    .description(
      'how balances on chain compare with the record: exit code 6 where the last look saw them differ',
    )
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const reconciliation = await connect().reconciliation();
        output.result(reconciliation, render(reconciliation));
        return exitOf(reconciliation);
      }),
    );
}

/** 5 where nothing can be said yet, or not of all. */
function exitOf({ last, open, unread }: Reconciliation): number {
  if ((last?.differences ?? 0) + (open?.differences ?? 0) > 0) return EXIT.differs;
  return last === null || unread > 0 ? EXIT.unavailable : EXIT.ok;
}

function render(reconciliation: Reconciliation): string {
  const { last, open } = reconciliation;
  if (last === null && open === null) return NEVER;
  return [...lastLines(reconciliation), ...openLines(reconciliation), ...unreadLines(reconciliation)].join(
    '\n',
  );
}

function lastLines({ last }: Reconciliation): readonly string[] {
  if (last === null) return ['no pass has come to its end yet'];
  return [`last pass ended ${last.endedAt}, begun ${last.begunAt}`, ...comparedLines(last)];
}

function openLines({ open, watched }: Reconciliation): readonly string[] {
  if (open === null) return ['no pass is under way: one begins every hour'];
  const place = open.after === null ? 'at its beginning' : `behind ${open.after}`;
  return [
    `pass under way since ${open.begunAt}, ${place}; ${counted(watched, 'wallet')} in all`,
    ...comparedLines(open),
    ...(open.haltedBecause === null ? [] : [`  halted    ${open.haltedBecause}: the next round goes on`]),
  ];
}

function comparedLines({ wallets, accounts, differences, slots }: ReconciledWallets): readonly string[] {
  const at = slots === null ? '' : ` at ${range(slots)}`;
  const verdict =
    differences === 0 ? 'chain and record agree' : `${differences} differ: see \`sluice alerts\``;
  return [
    `  compared  ${counted(wallets, 'wallet')}, ${counted(accounts, 'account')}${at}`,
    ...(wallets === 0 ? [] : [`  verdict   ${verdict}`]),
  ];
}

function unreadLines({ unread, longestUnread }: Reconciliation): readonly string[] {
  if (unread === 0) return ['every wallet could be compared when it was its turn'];
  const shown = longestUnread.slice(0, SHOWN).map(({ wallet, since, why }) => [wallet, since, why]);
  const more = unread > shown.length ? [`  and ${unread - shown.length} more`] : [];
  const rows = inColumns([['wallet', 'since', 'why'], ...shown]).map((line) => `  ${line}`);
  return [
    `${counted(unread, 'wallet')} could not be compared, and will be asked for again each hour:`,
    ...rows,
    ...more,
  ];
}

function range({ from, to }: { readonly from: string; readonly to: string }): string {
  return from === to ? `slot ${from}` : `slots ${from} to ${to}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
