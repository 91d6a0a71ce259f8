import type { Command } from '@commander-js/extra-typings';
import type { AuditDifference, AuditReport, Backfill, SluiceClient } from '../client/client.ts';
import { backfillWorkflowId, unreadText } from '../domain/backfill.ts';
import { apiCommand, type Columns, call, list, table, withPageOptions, withRangeOptions } from './command.ts';
import { EXIT } from './exit.ts';
import { untilInterrupted } from './interruption.ts';

const COLUMNS: Columns<Backfill> = {
  id: ({ id }) => id,
  begun: ({ begunAt }) => begunAt,
  address: ({ address }) => address ?? '(blocks)',
  from: ({ from }) => from,
  to: ({ to }) => to,
  state: (backfill) => stateOf(backfill),
  blocks: ({ blocks }) => String(blocks),
  found: ({ found }) => String(found),
  by: ({ actor }) => actor,
  reason: ({ reason }) => reason,
};

const WAIT_NOTICE_AFTER_MS = 10_000;
const WAIT_NOTICE = 'sluice: still waiting for the audit: the history is long, or no worker is running';
const INCOMPLETE =
  'the backfill is not complete: no quorum of nodes returned all of the history, or all blocks of the slots; run it again later';
const CONTINUES = 'interrupted; the audit continues: repeat the command to wait for its result';

export function registerBackfills(program: Command): void {
  const backfill = program
    .command('backfill')
    .description('Read earlier blocks, or the history of an address, again');
  withRangeOptions(
    apiCommand(backfill, 'blocks', 'Read committed blocks again and add missed deposits; removes no deposit'),
  ).action(({ from, to, reason, ...options }) =>
    call(options, (sluice) => sluice.backfills.start({ from, to, reason }), renderStarted),
  );
  withRangeOptions(
    apiCommand(
      backfill,
      'address',
      "Compare an address's transactions on chain with its recorded deposits; exit code 6 if they differ",
    ).argument('<address>', 'Deposit address'),
  )
    .option('--repair', 'Record missing deposits; never removes a deposit')
    .action((address, { from, to, reason, repair = false, ...options }) => {
      const request = { address, from, to, reason, repair };
      const audit = (sluice: SluiceClient) =>
        untilInterrupted(CONTINUES, (signal) => withWaitNotice(sluice.backfills.run(request, { signal })));
      return call(options, audit, renderAudit, exitOf);
    });
  apiCommand(backfill, 'get', 'Show one backfill, with the exit codes of `backfill address`')
    .argument('<id>', 'Number of the backfill')
    .action((id, options) => call(options, (sluice) => sluice.backfills.get(id), renderOne, exitOf));
  withPageOptions(apiCommand(backfill, 'list', 'List backfills and their results, newest first')).action(
    (options) => list(options, 'backfills', COLUMNS, (sluice, page) => sluice.backfills.page({}, page)),
  );
}

/** Names the actor and the time, because the API can return an earlier unfinished backfill of the same slots. */
function renderStarted(backfill: Backfill): string {
  const { id, from, to, actor, reason, begunAt } = backfill;
  const workflow = backfillWorkflowId({ from, to, actor, reason });
  return `backfill ${id} of slots ${from} to ${to} by ${actor} since ${begunAt}: workflow ${workflow}; see \`sluice backfill get ${id}\``;
}

function renderOne(backfill: Backfill): string {
  return backfill.report === null ? renderProgress(backfill) : renderAudit(backfill);
}

export function renderProgress(backfill: Backfill): string {
  const { address, from, to, actor, reason, begunAt, blocks, found } = backfill;
  const subject = address === null ? '' : ` of ${address}`;
  return `${from} to ${to}${subject} by ${actor} since ${begunAt}: ${reason}; ${stateOf(backfill)}; ${blocks} blocks, ${found} deposits found`;
}

function stateOf({ state, endedAt, readTo, trouble, unread }: Backfill): string {
  const isRead = state === 'done' || state === 'incomplete';
  const reached = readTo === null || isRead ? '' : ` at slot ${readTo}`;
  const when = endedAt === null ? '' : ` ${endedAt}`;
  const reason = state === 'incomplete' && unread.length > 0 ? unreadText(unread) : trouble;
  return `${state}${reached}${when}${reason === null ? '' : `: ${reason}`}`;
}

/** Prints a notice during a long wait, because the API does not know whether a worker is running. */
async function withWaitNotice<T>(audit: Promise<T>): Promise<T> {
  const timer = setTimeout(() => process.stderr.write(`${WAIT_NOTICE}\n`), WAIT_NOTICE_AFTER_MS);
  return audit.finally(() => clearTimeout(timer));
}

function exitOf({ state, report }: Backfill): number {
  if (state === 'given_up') return EXIT.failure;
  if (report !== null && report.remaining > 0) return EXIT.differs;
  return state === 'incomplete' ? EXIT.unavailable : EXIT.ok;
}

function renderAudit({ report, trouble, from, to }: Backfill): string {
  if (report === null) return `the audit failed: ${trouble ?? 'no reason is stored'}`;
  const { transactions, found, remaining, unread } = report;
  const scope = `${transactions} ${transactions === 1 ? 'transaction' : 'transactions'} in slots ${from} to ${to}`;
  const agreement = unread === 0 ? 'chain and database agree' : 'no differences in the part that was read';
  return [
    ...(found === 0
      ? [`${scope}: ${agreement}`]
      : [...renderDifferences(report), `${scope}: ${found} differ, ${remaining} remain`]),
    ...(unread === 0 ? [] : [INCOMPLETE]),
  ].join('\n');
}

const DIFFERENCE_COLUMNS: Columns<AuditDifference> = {
  signature: ({ signature }) => signature,
  slot: ({ slot }) => slot,
  account: ({ account }) => account,
  asset: ({ asset }) => asset,
  'on chain': ({ chain }) => chain ?? '-',
  stored: ({ stored }) => stored ?? '-',
  '': ({ repaired }) => (repaired ? 'repaired' : 'remains'),
};

function renderDifferences({ differences, found }: AuditReport): readonly string[] {
  const more = found - differences.length;
  return [
    table('differences', DIFFERENCE_COLUMNS, differences),
    ...(more > 0 ? [`and ${more} more, see \`sluice alerts list\``] : []),
  ];
}
