import type { Command } from '@commander-js/extra-typings';
import type { Rescan } from '../client/client.ts';
import { rescanWorkflowId, unreadText } from '../domain/rescan.ts';
import {
  apiCommand,
  type Columns,
  CURSOR_OPTION,
  call,
  FROM_OPTION,
  LIMIT_OPTION,
  list,
  REASON_OPTION,
  TO_OPTION,
} from './command.ts';

const COLUMNS: Columns<Rescan> = {
  begun: ({ begunAt }) => begunAt,
  from: ({ from }) => from,
  to: ({ to }) => to,
  state: (rescan) => stateOf(rescan),
  blocks: ({ blocks }) => String(blocks),
  found: ({ found }) => String(found),
  by: ({ actor }) => actor,
  reason: ({ reason }) => reason,
};

export function registerRescans(scan: Command): void {
  apiCommand(scan, 'rescan', 'Read committed blocks again and add what was missed; removes nothing')
    .requiredOption(...FROM_OPTION)
    .requiredOption(...TO_OPTION)
    .requiredOption(...REASON_OPTION)
    .action(({ from, to, reason, ...options }) =>
      call(options, (sluice) => sluice.scan.rescan({ from, to }, reason), renderStarted),
    );
  apiCommand(scan, 'list-rescans', 'List rescans and their results, newest first')
    .option(...LIMIT_OPTION)
    .option(...CURSOR_OPTION)
    .action((options) => list(options, 'rescans', COLUMNS, (sluice, page) => sluice.scan.rescanPage(page)));
}

/** The API may return an unfinished earlier rescan of the same slots. */
function renderStarted({ from, to, actor, begunAt }: Rescan): string {
  const workflow = rescanWorkflowId({ from, to });
  return `rescan of ${from} to ${to} by ${actor} since ${begunAt}: workflow ${workflow}; see \`sluice scan list-rescans\``;
}

export function renderOpenRescan(rescan: Rescan): string {
  const { from, to, actor, reason, begunAt, blocks, found } = rescan;
  return `${from} to ${to} by ${actor} since ${begunAt}: ${reason}; ${stateOf(rescan)}; ${blocks} blocks, ${found} deposits found`;
}

function stateOf({ state, endedAt, readTo, trouble, unread }: Rescan): string {
  const isRead = state === 'done' || state === 'incomplete';
  const reached = readTo === null || isRead ? '' : ` at slot ${readTo}`;
  const when = endedAt === null ? '' : ` ${endedAt}`;
  const reason = state === 'incomplete' ? unreadText(unread) : trouble;
  return `${state}${reached}${when}${reason === null ? '' : `: ${reason}`}`;
}
