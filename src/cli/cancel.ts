import type { Command } from '@commander-js/extra-typings';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { run } from './output.ts';
import { renderWithdrawal } from './render.ts';

/** `sluice cancel ID`: end a withdrawal that has no attempt yet. */
export function registerCancel(program: Command): void {
  program
    .command('cancel')
    .description('end a withdrawal that has no attempt yet')
    .argument('<id>', 'id of the withdrawal')
    .option('--json', 'one JSON object on stdout')
    .action((id, options) =>
      run(options.json ?? false, async (output) => {
        const withdrawal = await connect().cancel(id);
        output.result(withdrawal, renderWithdrawal(withdrawal));
        return EXIT.ok;
      }),
    );
}
