import { type Command, Option } from '@commander-js/extra-typings';
import type { ListFilter, WithdrawalSummary } from '../client/client.ts';
import { WITHDRAWAL_STATUSES } from '../domain/withdrawal.ts';
import { connect } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { type Output, run } from './output.ts';
import { renderSummary } from './render.ts';

const DEFAULT_LIMIT = '50';

/** `sluice list`: withdrawals, newest first. */
export function registerList(program: Command): void {
  program
    .command('list')
    .description('list withdrawals, newest first')
    .addOption(new Option('--status <status>', 'only those in this state').choices(WITHDRAWAL_STATUSES))
    .option('--asset <asset>', 'only those of SOL or of this mint')
    .option('--to <wallet>', 'only those to this wallet')
    .option('--limit <count>', 'at most so many', DEFAULT_LIMIT)
    .option('--json', 'one JSON object on stdout')
    .action((options) =>
      run(options.json ?? false, async (output) => {
        const filter: ListFilter = {
          ...(options.status === undefined ? {} : { status: options.status }),
          ...(options.asset === undefined ? {} : { asset: options.asset }),
          ...(options.to === undefined ? {} : { destination: options.to }),
        };
        return show(await take(connect().list(filter), limitOf(options.limit)), output);
      }),
    );
}

function limitOf(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit must be a whole number above 0');
  return limit;
}

async function take(all: AsyncIterable<WithdrawalSummary>, limit: number): Promise<WithdrawalSummary[]> {
  const taken: WithdrawalSummary[] = [];
  for await (const withdrawal of all) {
    taken.push(withdrawal);
    if (taken.length === limit) break;
  }
  return taken;
}

function show(withdrawals: readonly WithdrawalSummary[], output: Output): number {
  const text = withdrawals.length === 0 ? 'no withdrawals' : withdrawals.map(renderSummary).join('\n');
  output.result({ withdrawals }, text);
  return EXIT.ok;
}
