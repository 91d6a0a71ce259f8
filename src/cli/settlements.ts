import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Pause, SettlementView } from '../client/client.ts';
import { isPauseScope, type PauseScope, SETTLEMENT_STATUSES } from '../domain/settlement.ts';
import {
  apiCommand,
  type Columns,
  list,
  print,
  REASON_OPTION,
  show,
  table,
  withPageOptions,
  YES_OPTION,
} from './command.ts';
import { requireConsent } from './consent.ts';
import { byApiOrDatabase, DATABASE_OPTION, operatorNote, parsePositions } from './database.ts';
import { registerExplain } from './explain.ts';
import { renderStatus } from './render.ts';

const SCOPE_OPTION = [
  '--scope <scope>',
  'Scope of the pause: all (default), kind/<kind> or wallet/<address>',
  (text: string): PauseScope => {
    if (isPauseScope(text)) return text;
    throw new InvalidArgumentError('It must be all, kind/<kind> or wallet/<address>.');
  },
] as const;

const COLUMNS: Columns<SettlementView> = {
  created: ({ createdAt }) => createdAt,
  status: ({ status }) => renderStatus(status),
  kind: ({ kind }) => kind,
  id: ({ id }) => id,
  signature: ({ signature }) => signature ?? '',
  reason: ({ reason }) => reason?.message ?? '',
};

export function registerSettlements(program: Command): void {
  const settlements = program
    .command('settlements')
    .description(
      'Show, pause and resume settlements of every kind: withdrawals, nonce accounts, x402 payments',
    );
  registerList(settlements);
  registerExplain(settlements, 'a settlement', 'Settlement ID: <kind>/<subject>, or a withdrawal ID');
  registerMarkPaid(settlements);
  registerPause(settlements);
  registerResume(settlements);
}

function registerList(settlements: Command): void {
  withPageOptions(
    apiCommand(settlements, 'list', 'List settlements, newest first')
      .option('--kind <kind>', 'Only settlements of this kind, such as nonce-create')
      .option('--subject <subject>', 'Only settlements with this subject')
      .addOption(
        new Option('--status <status>', 'Only settlements in this status').choices(SETTLEMENT_STATUSES),
      )
      .option('--signature <signature>', 'Only the settlement with this transaction signature'),
  ).action(({ kind, subject, status, signature, ...options }) => {
    const filter = { kind, subject, status, signature };
    return list(options, 'settlements', COLUMNS, (sluice, page) => sluice.settlements.page(filter, page));
  });
}

function registerMarkPaid(settlements: Command): void {
  apiCommand(settlements, 'mark-paid', 'Mark a settlement as already paid; Sluice then never pays it')
    .argument('<id>', 'Withdrawal ID, or settlement ID')
    .requiredOption(...REASON_OPTION)
    .option(...YES_OPTION)
    .action(async (id, options) =>
      show(options, 'settlements', COLUMNS, async (sluice) => {
        await requireConsent(options, `This marks ${id} as already paid: Sluice then never pays it`);
        return sluice.settlements.endAsPaid(id, options.reason);
      }),
    );
}

function registerPause(settlements: Command): void {
  apiCommand(
    settlements,
    'pause',
    'Stop preparing transactions; those already prepared are still signed and sent',
  )
    .requiredOption(...REASON_OPTION)
    .option(...SCOPE_OPTION)
    .option(...DATABASE_OPTION)
    .action((options) => {
      const { scope, reason } = options;
      const pause = async () => ({
        pauses: await byApiOrDatabase<readonly Pause[]>(options, {
          api: (sluice) => sluice.pauses.begin(reason, { scope }),
          database: (ledger) => ledger.pauses.begin({ ...operatorNote(reason), scope }),
        }),
      });
      return print(options, pause, ({ pauses }) => renderPauses('paused', pauses));
    });
}

function registerResume(settlements: Command): void {
  apiCommand(
    settlements,
    'resume',
    'End every pause, or those of one scope, and close the alerts that began them',
  )
    .requiredOption(...REASON_OPTION)
    .option(
      '--seen <positions>',
      'Positions of the alerts that you have read, such as 17,18',
      parsePositions,
      [],
    )
    .option(...SCOPE_OPTION)
    .option(...YES_OPTION)
    .option(...DATABASE_OPTION)
    .action((options) => {
      const { scope, reason, seen } = options;
      const resume = async () => {
        await requireConsent(options, `This resumes payments (scope ${scope ?? 'all'})`);
        const pauses = await byApiOrDatabase<readonly Pause[]>(options, {
          api: (sluice) => sluice.pauses.end(reason, { scope, seen }),
          database: (ledger) => ledger.pauses.end({ ...operatorNote(reason), seen: seen.map(BigInt), scope }),
        });
        return { pauses };
      };
      return print(options, resume, ({ pauses }) =>
        pauses.length === 0 ? 'nothing was paused' : renderPauses('ended', pauses),
      );
    });
}

const PAUSE_COLUMNS: Columns<Pause> = {
  since: ({ since }) => since,
  cause: ({ cause }) => cause,
  scope: ({ scope }) => scope,
  by: ({ actor }) => actor,
  reason: ({ reason }) => reason,
};

function renderPauses(heading: string, pauses: readonly Pause[]): string {
  return [heading, table('pauses', PAUSE_COLUMNS, pauses)].join('\n');
}
