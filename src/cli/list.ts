import { type Command, Option } from '@commander-js/extra-typings';
import type { ListFilter, WithdrawalSummary } from '../client/client.ts';
import { WITHDRAWAL_STATUSES } from '../domain/withdrawal.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { positive } from './numbers.ts';
import { JSON_OPTION, run } from './output.ts';
import { renderSummary } from './render.ts';
import { take } from './take.ts';

const DEFAULT_LIMIT = 50;

/** `sluice list`: withdrawals, newest first. */
export function registerList(program: Command): void {
  program
    .command('list')
    .description('list withdrawals, newest first')
    .addOption(new Option('--status <status>', 'only those in this state').choices(WITHDRAWAL_STATUSES))
    .option('--asset <asset>', 'only those of SOL or of this mint')
    .option('--to <wallet>', 'only those to this wallet')
    .option('--limit <count>', 'at most so many', positive, DEFAULT_LIMIT)
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const filter: ListFilter = {
          ...(options.status === undefined ? {} : { status: options.status }),
          ...(options.asset === undefined ? {} : { asset: options.asset }),
          ...(options.to === undefined ? {} : { destination: options.to }),
        };
        const withdrawals = await take(connect().list(filter), options.limit);
        output.result({ withdrawals }, render(withdrawals, filter));
        return EXIT.ok;
      }),
    );
}

function render(withdrawals: readonly WithdrawalSummary[], filter: ListFilter): string {
  if (withdrawals.length > 0) return withdrawals.map(renderSummary).join('\n');
  return Object.keys(filter).length === 0 ? 'no withdrawals yet' : 'no withdrawal matches';
}
