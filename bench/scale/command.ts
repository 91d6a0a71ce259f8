import type { Command } from '@commander-js/extra-typings';
import { EXIT } from '../../src/cli/exit.ts';
import { parsePositive } from '../../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../../src/cli/output.ts';
import { rounded } from '../figures.ts';
import { measureScale, type ScaleFigures } from './measure.ts';
import { openServer } from './server.ts';

/** `bench scale`: compares the cost of queries and preparations in a small and in a large database. */
export function registerScale(program: Command): void {
  program
    .command('scale')
    .description(
      'every query of the ledger, preparations and the watch set, with little and with much history',
    )
    .option(...JSON_AND_PROGRESS_OPTION)
    .option('--rows <n>', 'rows of history in each table of the large database', parsePositive, 10_000_000)
    .option('--small-rows <n>', 'the same in the small one', parsePositive, 10_000)
    .option('--runs <n>', 'times that each query is measured', parsePositive, 5)
    .option('--server <url>', 'a PostgreSQL where the databases are kept for the next run (superuser)')
    .action(({ json, server: url, ...plan }) =>
      run({ json }, async (output) => {
        const server = await openServer(url);
        try {
          const figures = await measureScale(server, plan, (line) => output.progress(line));
          output.result(rounded(figures), render(figures));
        } finally {
          await server.stop();
        }
        return EXIT.ok;
      }),
    );
}

function render(figures: ScaleFigures): string {
  const { rows, queries, slowestRatio, seqScans, prepareRatioWithOpen, slowest } = figures;
  return [
    `rows             ${rows} in each table of history`,
    `queries          ${queries}, the slowest ${slowestRatio.toFixed(2)} x its time with little history (aim <= 1.5)`,
    `read whole       ${seqScans.length === 0 ? 'no table of history' : seqScans.join(', ')}`,
    `preparations     ${figures.preparesPerSecond.toFixed(0)}/s, with ${figures.open} open reservations ${figures.preparesPerSecondWithOpen.toFixed(0)}/s: ${prepareRatioWithOpen.toFixed(2)} (aim >= 0.8)`,
    `watch set        ${figures.watchSetSeconds.toFixed(1)} s`,
    ...slowest.map(
      ({ name, smallMs, largeMs }) => `  ${smallMs.toFixed(1)} ms -> ${largeMs.toFixed(1)} ms  ${name}`,
    ),
  ].join('\n');
}
