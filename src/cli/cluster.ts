import type { Command } from '@commander-js/extra-typings';
import type { ClusterRow } from '../ledger/cluster.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { withRecord } from './record.ts';

/** `sluice cluster`: which cluster the record belongs to; `--forget` frees a record that was bound to a wrong one and is still empty. */
export function registerCluster(program: Command): void {
  program
    .command('cluster')
    .description('show the cluster that the record belongs to')
    .option(
      '--forget',
      'stop the workers first: the next one binds it anew; refused once anything was composed',
    )
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const forget = options.forget === true;
        const row = await withRecord(({ cluster }) => (forget ? cluster.forget() : cluster.get()));
        output.result({ cluster: row, forgotten: forget && row !== null }, render(row, forget));
        return EXIT.ok;
      }),
    );
}

function render(row: ClusterRow | null, forgotten: boolean): string {
  if (row === null) return 'the record belongs to no cluster yet: the first worker binds it';
  const bound = `cluster ${row.genesisHash}, bound at ${row.boundAt.toISOString()}`;
  return forgotten ? `forgotten: ${bound}; the next worker binds the record anew` : bound;
}
