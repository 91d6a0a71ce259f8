import type { Command } from '@commander-js/extra-typings';
import type { Ledger } from '../ledger/ledger.ts';
import type { ClusterRow } from '../ledger/operations/cluster.ts';
import { localCommand, YES_OPTION } from './command.ts';
import { requireConsent } from './consent.ts';
import { withDatabase } from './database.ts';
import { EXIT } from './exit.ts';
import { type OutputOptions, run } from './output.ts';

/** `sluice cluster`: the database's Solana cluster. An empty database can be unbound from a wrong cluster. */
export function registerCluster(program: Command): void {
  const cluster = program.command('cluster').description('Show or forget the Solana cluster of the database');
  localCommand(cluster, 'get', 'Show the cluster that the database is bound to').action((options) =>
    print(options, false, (ledger) => ledger.cluster.get()),
  );
  localCommand(
    cluster,
    'forget',
    'Unbind the database from its cluster; refused once a transaction was composed',
  )
    .option(...YES_OPTION)
    .action((options) =>
      print(options, true, async (ledger) => {
        await requireConsent(options, 'This unbinds the database from its cluster; stop all workers first');
        return ledger.cluster.forget();
      }),
    );
}

function print(
  options: OutputOptions,
  forget: boolean,
  ask: (ledger: Ledger) => Promise<ClusterRow | null>,
): Promise<void> {
  return run(options, async (output) => {
    const row = await withDatabase(ask);
    output.result({ cluster: row, forgotten: forget && row !== null }, render(row, forget));
    return EXIT.ok;
  });
}

function render(row: ClusterRow | null, forgotten: boolean): string {
  if (row === null) return 'the database is bound to no cluster yet: the first worker binds it';
  const bound = `cluster ${row.genesisHash}, bound at ${row.boundAt.toISOString()}`;
  return forgotten ? `forgotten: ${bound}; the next worker binds the database again` : bound;
}
