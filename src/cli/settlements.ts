import { type Command, Option } from '@commander-js/extra-typings';
import type { SettlementFilter, SettlementView } from '../client/client.ts';
import { SETTLEMENT_STATUSES } from '../domain/settlement.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit.ts';
import { positive } from './numbers.ts';
import { JSON_OPTION, run } from './output.ts';
import { renderStatusColumn } from './render.ts';
import { take } from './take.ts';
import { WHY_ARGUMENT } from './word.ts';

const DEFAULT_LIMIT = 50;

/** `sluice settlements` and `sluice paid ID WHY`: settlements of every kind. */
export function registerSettlements(program: Command): void {
  registerList(program);
  registerPaid(program);
}

/** `sluice settlements`: newest first. */
function registerList(program: Command): void {
  program
    .command('settlements')
    .description('list settlements of every kind (withdrawals, nonce accounts), newest first')
    .option('--kind <kind>', 'only those of this kind, such as nonce-create')
    .option('--subject <subject>', 'only those about this subject')
    .addOption(new Option('--status <status>', 'only those in this state').choices(SETTLEMENT_STATUSES))
    .option('--signature <signature>', 'only the one with this transaction')
    .option('--limit <count>', 'at most so many', positive, DEFAULT_LIMIT)
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const { kind, subject, status, signature, limit } = options;
        const filter: SettlementFilter = {
          ...(kind === undefined ? {} : { kind }),
          ...(subject === undefined ? {} : { subject }),
          ...(status === undefined ? {} : { status }),
          ...(signature === undefined ? {} : { signature }),
        };
        const settlements = await take(connect().settlements.list(filter), limit);
        output.result({ settlements }, render(settlements));
        return EXIT.ok;
      }),
    );
}

/** `sluice paid ID WHY`: people have seen it paid by what is not on record. */
function registerPaid(program: Command): void {
  program
    .command('paid')
    .description(
      'end a settlement that the chain has paid already, as an alert says; nothing of it is given back',
    )
    .argument('<id>', 'id of the withdrawal, or of the settlement as `sluice settlements` shows it')
    .argument(...WHY_ARGUMENT)
    .option(...JSON_OPTION)
    .action((id, why, options) =>
      run(options, async (output) => {
        const settlement = await connect().settlements.endAsPaid(id, why);
        output.result(settlement, renderView(settlement));
        return EXIT.ok;
      }),
    );
}

function render(settlements: readonly SettlementView[]): string {
  return settlements.length === 0 ? 'no settlement matches' : settlements.map(renderView).join('\n');
}

function renderView({ createdAt, status, id, kind, signature, reason }: SettlementView): string {
  const parts = [createdAt, renderStatusColumn(status), kind, id];
  if (signature !== null) parts.push(signature);
  if (reason !== null) parts.push(reason.message);
  return parts.join('  ');
}
