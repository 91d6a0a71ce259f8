import { type Command, Option } from '@commander-js/extra-typings';
import type { SluiceClient, Withdrawal, WithdrawalSummary, WithdrawalTerms } from '../client/client.ts';
import { describeAmount } from '../domain/amount.ts';
import { isTerminal } from '../domain/settlement.ts';
import { WITHDRAWAL_STATUSES } from '../domain/withdrawal.ts';
import { toUnits } from './amounts.ts';
import { ASSET_OPTION, apiCommand, type Columns, call, list, print, withPageOptions } from './command.ts';
import { type Connection, connect } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { registerExplain } from './explain.ts';
import { untilInterrupted } from './interruption.ts';
import type { Output } from './output.ts';
import { nextStep, renderStatus, renderStep, renderWithdrawal } from './render.ts';

const CALLS: readonly (readonly [
  name: string,
  description: string,
  ask: (sluice: SluiceClient, id: string) => Promise<Withdrawal>,
])[] = [
  ['get', 'Show a withdrawal and its attempts', (sluice, id) => sluice.get(id)],
  [
    'confirm',
    'Confirm a withdrawal that awaits confirmation, so that Sluice pays it',
    (sluice, id) => sluice.confirm(id),
  ],
  ['cancel', 'Cancel a withdrawal that has no attempt yet', (sluice, id) => sluice.cancel(id)],
];

export function registerWithdrawals(program: Command): void {
  const withdrawals = program
    .command('withdrawals')
    .description('Create, show, confirm and cancel withdrawals');
  registerCreate(withdrawals);
  for (const [name, description, ask] of CALLS)
    apiCommand(withdrawals, name, description)
      .argument('<id>', 'Withdrawal ID')
      .action((id, options) => call(options, (sluice) => ask(sluice, id), renderWithdrawal));
  registerList(withdrawals);
  registerExplain(withdrawals, 'a withdrawal', 'Withdrawal ID');
}

function registerCreate(withdrawals: Command): void {
  apiCommand(withdrawals, 'create', 'Create a withdrawal; the same ID never pays twice')
    .option('--id <id>', 'Your ID for the withdrawal; use it for no other withdrawal')
    .option(...ASSET_OPTION)
    .option('--amount <amount>', 'Decimal amount of the asset, such as 1.5')
    .option('--units <units>', 'Amount in base units, such as lamports, instead of --amount')
    .option('--to <wallet>', 'Wallet of the recipient')
    .option(
      '--accept-empty-wallet',
      'Pay without a confirmation even if the wallet does not exist on chain yet',
    )
    .option('--memo <text>', 'Memo of the transaction, public on chain')
    .option('--wait', 'Wait until the withdrawal is finalized, rejected, cancelled or failed')
    .action((options) => {
      const create = async (output: Output) => {
        const terms = await termsOf(options);
        const sluice = connect(options);
        const created = await sluice.withdraw(terms);
        return options.wait ? follow(sluice, created, output) : created;
      };
      return print(options, create, renderWithdrawal, ({ status }) =>
        isTerminal(status) && status !== 'finalized' ? EXIT.unpaid : EXIT.ok,
      );
    });
}

type TextOption = 'id' | 'asset' | 'amount' | 'units' | 'to' | 'memo';
type CreateOptions = Connection &
  Pick<WithdrawalTerms, 'acceptEmptyWallet'> & { readonly [Option in TextOption]?: string | undefined };

/** Throws UsageError with all missing options, because Commander would name only the first one. */
async function termsOf(options: CreateOptions): Promise<WithdrawalTerms> {
  const { id, asset, amount, units, to, acceptEmptyWallet, memo } = options;
  const anyAmount = amount ?? units;
  if (id === undefined || asset === undefined || anyAmount === undefined || to === undefined) {
    const all = { '--id': id, '--asset': asset, '--amount or --units': anyAmount, '--to': to };
    const missing = Object.entries(all).filter(([, value]) => value === undefined);
    throw new UsageError(`missing: ${missing.map(([name]) => name).join(', ')}; see --help`);
  }
  if (amount !== undefined && units !== undefined)
    throw new UsageError('give either --amount or --units, not both');
  return {
    id,
    asset,
    amount: units ?? (await toUnits({ amount: anyAmount, asset, option: '--amount' }, options)),
    destination: to,
    acceptEmptyWallet,
    memo,
  };
}

function follow(sluice: SluiceClient, { id }: Withdrawal, output: Output): Promise<Withdrawal> {
  const interruptedText = `interrupted; the withdrawal continues, see: sluice withdrawals get ${id}`;
  return untilInterrupted(interruptedText, (signal) =>
    sluice.waitForFinal(id, {
      signal,
      onChange: (withdrawal) => output.progress(renderStep(withdrawal)),
      onSilence: ({ message }) => output.progress(`${message}; trying again`),
    }),
  );
}

const COLUMNS: Columns<WithdrawalSummary> = {
  created: ({ createdAt }) => createdAt,
  status: ({ status }) => renderStatus(status),
  id: ({ id }) => id,
  amount: (withdrawal) => describeAmount(withdrawal),
  next: (withdrawal) => nextStep(withdrawal).join(),
};

function registerList(withdrawals: Command): void {
  withPageOptions(
    apiCommand(withdrawals, 'list', 'List withdrawals, newest first')
      .addOption(
        new Option('--status <status>', 'Only withdrawals in this status').choices(WITHDRAWAL_STATUSES),
      )
      .option(...ASSET_OPTION)
      .option('--to <wallet>', 'Only withdrawals to this wallet'),
  ).action(({ status, asset, to, ...options }) => {
    const filter = { status, asset, destination: to };
    return list(options, 'withdrawals', COLUMNS, (sluice, page) => sluice.page(filter, page));
  });
}
