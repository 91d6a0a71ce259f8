import type { Command } from '@commander-js/extra-typings';
import type { Rescan } from '../client/client.ts';
import { rescanWorkflowId } from '../domain/rescan.ts';
import { inColumns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { positive } from './numbers.ts';
import { JSON_OPTION, type Output, run } from './output.ts';

const DEFAULT_LIMIT = 20;
const HEADINGS = ['begun', 'from', 'to', 'state', 'blocks', 'found', 'asked for by'] as const;

/** `sluice scan rescan`, and `sluice scan rescans`: what came of each. */
export function registerRescans(scan: Command): void {
  scan
    .command('rescan')
    .description('read committed blocks again; what was missed is added, nothing is taken back')
    .argument('<from>', 'first slot')
    .argument('<to>', 'last slot')
    .argument('<why>', 'for whoever asks later')
    .option(...JSON_OPTION)
    .action((from, to, why, options) =>
      run(options, async (output) => {
        const rescan = await connect().scan.rescan({ from, to }, why);
        const begun = `rescan of ${from} to ${to} begun: workflow ${rescanWorkflowId({ from, to })}`;
        output.result(rescan, `${begun}\n\`sluice scan rescans\` says how far it is, and what it has found`);
        return EXIT.ok;
      }),
    );
  scan
    .command('rescans')
    .description('how far each rescan is, and what it came to, newest first')
    .option('--limit <count>', 'list at most so many', positive, DEFAULT_LIMIT)
    .option(...JSON_OPTION)
    .action((options) => run(options, (output) => list(options.limit, output)));
}

async function list(limit: number, output: Output): Promise<number> {
  const listed: Rescan[] = [];
  for await (const rescan of connect().scan.rescans()) {
    listed.push(rescan);
    if (listed.length > limit) break;
  }
  const rescans = listed.slice(0, limit);
  const hasMore = listed.length > limit;
  output.result({ rescans, hasMore }, renderTable(rescans, hasMore));
  return EXIT.ok;
}

function renderTable(rescans: readonly Rescan[], hasMore: boolean): string {
  if (rescans.length === 0) return 'no rescans';
  const more = hasMore ? ['there are more: --limit lists them'] : [];
  return [...inColumns([HEADINGS, ...rescans.map(cellsOf)]), ...more].join('\n');
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

function stateOf({ state, endedAt, readTo, trouble }: Rescan): string {
  const reached = readTo === null || state === 'done' ? '' : ` at slot ${readTo}`;
  const when = endedAt === null ? '' : ` ${endedAt}`;
  return `${state}${reached}${when}${trouble === null ? '' : `: ${trouble}`}`;
}
