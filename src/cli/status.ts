import type { Command } from '@commander-js/extra-typings';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { run } from './output.ts';
import { renderWithdrawal } from './render.ts';

/** `sluice status ID`: show a withdrawal and its attempts. */
export function registerStatus(program: Command): void {
  program
    .command('status')
    .description('show a withdrawal and its attempts')
    .argument('<id>', 'id of the withdrawal')
    .option('--json', 'one JSON object on stdout')
    .action((id, options) =>
      run(options.json ?? false, async (output) => {
        const withdrawal = await connect().get(id);
        output.result(withdrawal, renderWithdrawal(withdrawal));
        return EXIT.ok;
      }),
    );
}
