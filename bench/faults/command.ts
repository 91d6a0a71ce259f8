import type { Command } from '@commander-js/extra-typings';
import { parsePositive } from '../../src/cli/numbers.ts';
import { JSON_AND_PROGRESS_OPTION, run } from '../../src/cli/output.ts';
import { measureOnStack } from '../stack.ts';
import { measureFaults } from './measure.ts';
import { renderFaults } from './report.ts';

const NODES = 3;

/** `bench faults`: measures how much longer a withdrawal takes if answers of the nodes are lost. */
export function registerFaults(program: Command): void {
  program
    .command('faults')
    .description('time from request to finalized with 0, 10 and 50 % of RPC answers lost')
    .option(...JSON_AND_PROGRESS_OPTION)
    .option('--count <n>', 'withdrawals at each share of lost answers', parsePositive, 200)
    .option('--in-flight <n>', 'withdrawals under way at a time', parsePositive, 50)
    .option('--slot-ms <ms>', 'length of a slot of the chain', parsePositive, 100)
    .option('--finality-lag <slots>', 'slots from processed to finalized', parsePositive, 16)
    .action(({ json, ...plan }) =>
      run({ json }, (output) =>
        measureOnStack(
          output,
          { ...plan, nodes: NODES },
          (stack, say) => measureFaults(stack, plan, say),
          renderFaults,
        ),
      ),
    );
}
