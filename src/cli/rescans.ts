import type { Command } from '@commander-js/extra-typings';
import type { Rescan } from '../client/client.ts';
import { rescanWorkflowId, unreadText } from '../domain/rescan.ts';
import { inColumns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { positive } from './numbers.ts';
import { JSON_OPTION, type Output, run } from './output.ts';
import { goesOn, type Part, partOf } from './part.ts';
import { WHY_ARGUMENT } from './word.ts';

const DEFAULT_LIMIT = 20;
const HEADINGS = ['begun', 'from', 'to', 'state', 'blocks', 'found', 'asked for by'] as const;

/** `sluice scan rescan`, and `sluice scan rescans`: what came of each. */
export function registerRescans(scan: Command): void {
  scan
    .command('rescan')
    .description('read committed blocks again; what was missed is added, nothing is taken back')
    .argument('<from>', 'first slot')
    .argument('<to>', 'last slot')
    .argument(...WHY_ARGUMENT)
    .option(...JSON_OPTION)
    .action((from, to, why, options) =>
      run(options, async (output) => {
        const rescan = await connect().scan.rescan({ from, to }, why);
        // Somebody may have asked for it before.
        const asked = `rescan of ${from} to ${to} by ${rescan.who} since ${rescan.begunAt}: workflow ${rescanWorkflowId({ from, to })}`;
        output.result(rescan, `${asked}\n\`sluice scan rescans\` says how far it is, and what it has found`);
        return EXIT.ok;
      }),
    );
  scan
    .command('rescans')
    .description('how far each rescan is, and what it came to, newest first')
    .option('--limit <count>', 'list at most so many', positive, DEFAULT_LIMIT)
    .option('--cursor <cursor>', 'go on behind a list before: its `nextCursor`')
    .option(...JSON_OPTION)
    .action((options) => run(options, (output) => list(options, output)));
}

async function list(part: Part, output: Output): Promise<number> {
  const sluice = connect();
  const { entries: rescans, nextCursor } = await partOf(part, async (page) => {
    const { rescans: entries, nextCursor: next } = await sluice.scan.rescanPage(page);
    return { entries, nextCursor: next };
  });
  output.result({ rescans, nextCursor }, renderTable(rescans, nextCursor));
  return EXIT.ok;
}

function renderTable(rescans: readonly Rescan[], nextCursor: string | null): string {
  if (rescans.length === 0) return 'no rescans yet';
  return [...inColumns([HEADINGS, ...rescans.map(cellsOf)]), ...goesOn(nextCursor)].join('\n');
}

/** A rescan under {@link HEADINGS}. */
function cellsOf(rescan: Rescan): readonly string[] {
  const { begunAt, from, to, blocks, found, who, why } = rescan;
  return [begunAt, from, to, stateOf(rescan), `${blocks}`, `${found}`, `${who}: ${why}`];
}

/** One that has not ended, for the status of the scan. */
export function renderOpenRescan(rescan: Rescan): string {
  const { from, to, who, why, begunAt, blocks, found } = rescan;
  return `${from} to ${to} by ${who} since ${begunAt}: ${why}; ${stateOf(rescan)}; ${blocks} blocks, ${found} deposits found`;
}

function stateOf({ state, endedAt, readTo, trouble, unread }: Rescan): string {
  const isRead = state === 'done' || state === 'incomplete';
  const reached = readTo === null || isRead ? '' : ` at slot ${readTo}`;
  const when = endedAt === null ? '' : ` ${endedAt}`;
  const why = state === 'incomplete' ? unreadText(unread) : trouble;
  return `${state}${reached}${when}${why === null ? '' : `: ${why}`}`;
}
