import type { Command } from '@commander-js/extra-typings';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { run } from './output.ts';
import { renderWithdrawal } from './render.ts';

/** `sluice confirm ID`: pay the wallet although it needs a confirmation. */
export function registerConfirm(program: Command): void {
  program
    .command('confirm')
    .description('pay the wallet although it needs a confirmation')
    .argument('<id>', 'id of the withdrawal')
    .option('--json', 'one JSON object on stdout')
    .action((id, options) =>
      run(options.json ?? false, async (output) => {
        const withdrawal = await connect().confirm(id);
        output.result(withdrawal, renderWithdrawal(withdrawal));
        return EXIT.ok;
      }),
    );
}
