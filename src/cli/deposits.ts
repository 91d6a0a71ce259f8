import { type Command, Option } from '@commander-js/extra-typings';
import type { Deposit, DepositEvent, FilterOf } from '../client/client.ts';
import { DEPOSIT_STATES } from '../domain/deposit.ts';
import {
  type ApiOptions,
  ASSET_OPTION,
  apiCommand,
  type Columns,
  list,
  REASON_OPTION,
  show,
  withPageOptions,
} from './command.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { untilInterrupted } from './interruption.ts';
import { parseNotNegative } from './numbers.ts';
import { run } from './output.ts';

const COLUMNS: Columns<Deposit> = {
  slot: ({ slot }) => slot,
  'block time': ({ blockTime }) => blockTime ?? 'unknown',
  state: ({ state, reason }) => (reason === null ? state : `${state} (${reason})`),
  'base units': ({ amount }) => amount,
  asset: ({ asset }) => asset,
  to: ({ userRef, wallet }) => userRef ?? wallet,
  id: ({ id }) => id,
  signature: ({ signature }) => signature,
};

export function registerDeposits(program: Command): void {
  const deposits = program.command('deposits').description('List, show, follow and reject deposits');
  withPageOptions(filteredCommand(deposits, 'list', 'List deposits, newest first')).action((options) =>
    list(options, 'deposits', COLUMNS, (sluice, page) => sluice.deposits.page(filterOf(options), page)),
  );
  apiCommand(deposits, 'get', 'Show a deposit in its current state')
    .argument('<id>', 'Deposit ID')
    .action((id, options) => show(options, 'deposits', COLUMNS, (sluice) => sluice.deposits.get(id)));
  filteredCommand(deposits, 'follow', 'Print deposit events as they occur, one per line, until interrupted')
    .option(
      '--after <sequence>',
      'Only events after this sequence number (default: all events)',
      parseNotNegative,
    )
    .action((options) => follow(options, options.after?.toString()));
  apiCommand(deposits, 'reject', 'Drop a pending deposit that a quorum of nodes denies now')
    .argument('<id>', 'Deposit ID')
    .requiredOption(...REASON_OPTION)
    .action((id, { reason, ...options }) =>
      show(options, 'deposits', COLUMNS, (sluice) => sluice.deposits.reject(id, reason)),
    );
}

function filteredCommand(deposits: Command, name: string, description: string) {
  return apiCommand(deposits, name, description)
    .option('--address <wallet>', 'Only deposits to this wallet')
    .option('--user <id>', 'Only deposits of this user')
    .addOption(new Option('--state <state>', 'Only deposits in this state').choices(DEPOSIT_STATES))
    .option(...ASSET_OPTION);
}

type FilterOptions = Omit<FilterOf<'listDeposits'>, 'userRef'> & { readonly user?: string | undefined };

function filterOf({ address, user, state, asset }: FilterOptions): FilterOf<'listDeposits'> {
  return { address, userRef: user, state, asset };
}

function follow(options: ApiOptions & FilterOptions, after: string | undefined): Promise<void> {
  return run(options, (output) =>
    untilInterrupted('interrupted', async (signal) => {
      if (options.output !== 'json') output.progress(feedLine(['event', 'at', ...Object.keys(COLUMNS)]));
      const events = connect(options).deposits.events({
        ...filterOf(options),
        after,
        signal,
        onSilence: ({ message }) => process.stderr.write(`${message}; trying again\n`),
      });
      for await (const event of events) output.result(event, renderEvent(event));
      return EXIT.ok;
    }),
  );
}

function renderEvent({ sequence, at, deposit }: DepositEvent): string {
  return feedLine([sequence, at, ...Object.values(COLUMNS).map((cell) => cell(deposit))]);
}

/** Fixed widths that fit most cells, because each row is printed before the next one is known. */
const WIDTHS = [6, 24, 9, 24, 12, 12, 44, 44];

function feedLine(cells: readonly string[]): string {
  return cells.map((cell, column) => cell.padEnd(WIDTHS[column] ?? 0)).join('  ');
}
