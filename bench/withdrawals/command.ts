import type { Command } from '@commander-js/extra-typings';
import { parsePositive } from '../../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../../src/cli/output.ts';
import { measureOnStack } from '../stack.ts';
import { measure } from './measure.ts';
import { renderReport } from './report.ts';

/** `bench withdrawals`: compares the cost of a withdrawal with that of a workflow of three empty activities on the same server. */
export function registerWithdrawals(program: Command): void {
  program
    .command('withdrawals')
    .description('withdrawals per second, compared with a bare three-activity workflow on the same server')
    .option(...JSON_AND_PROGRESS_OPTION)
    .option('--count <n>', 'withdrawals in each round', parsePositive, 300)
    .option(
      '--rounds <n>',
      'rounds of withdrawals, each followed by one of the bare workflow',
      parsePositive,
      3,
    )
    .option('--in-flight <n>', 'withdrawals, or bare workflows, under way at a time', parsePositive, 100)
    .option('--slot-ms <ms>', 'length of a slot of the chain', parsePositive, 50)
    .option('--finality-lag <slots>', 'slots from processed to finalized', parsePositive, 4)
    .option('--profile <dir>', 'leave CPU profiles of both workers in this directory')
    .action(({ json, ...plan }) =>
      run({ json }, (output) =>
        measureOnStack(output, plan, (stack, say) => measure(stack, plan, say), renderReport),
      ),
    );
}
