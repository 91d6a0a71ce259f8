import { type Command, Option } from '@commander-js/extra-typings';
import { ALERT_KINDS, CLOSED_BY_ORDER, ENDED_BY_A_LOOK, runbookOf } from '../domain/alerts.ts';
import { KEEPS_FAILING } from '../domain/chain-failures.ts';
import { PAID_BY_DEAD } from '../domain/settlement.ts';
import type { AlertRow } from '../ledger/alerts.ts';
import type { PauseRow } from '../ledger/pauses.ts';
import { EXIT } from './exit.ts';
import { JSON_OPTION, run } from './output.ts';
import { withRecord } from './record.ts';
import { ownWord, positions } from './word.ts';

const SHOWN = 200;
const HEADINGS = 'position  last seen  kind  subject  message';

/** `sluice alerts`: what people must know: open pauses, then alerts, newest first; `seen` and `close` below it end some. */
export function registerAlerts(program: Command): void {
  const alerts = program
    .command('alerts')
    .description('list pauses of the payments, and open alerts, newest first')
    .option('--all', 'closed ones, too')
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const filter = options.all === true ? { limit: SHOWN } : { open: true, limit: SHOWN };
        const { rows, pauses } = await withRecord(async (ledger) => ({
          ...(await ledger.alerts.list(filter)),
          pauses: await ledger.pauses.open(),
        }));
        const alerts = rows.length === 0 ? ['no alerts'] : [HEADINGS, ...rows.map(renderAlert)];
        const text = [...pauses.map(renderPause), ...alerts].join('\n');
        output.result({ pauses: pauses.map(toJson), alerts: rows.map(toJson) }, text);
        return EXIT.ok;
      }),
    );
  registerEnds(alerts);
}

function registerEnds(alerts: Command<[], { all?: true | undefined; json?: true | undefined }>): void {
  alerts
    .command('seen')
    .description('close alerts that you have looked into, and that nothing else ends')
    .argument('<positions>', 'what `sluice alerts` begins their lines with, such as 17,18', positions)
    .argument('<why>', 'what came of it, for whoever asks later')
    .action((seen, why) =>
      run(alerts.opts(), async (output) => {
        const closed = await withRecord((ledger) => ledger.alerts.endSeen(seen, ownWord(why)));
        const text = closed.length === 0 ? 'none of these is open' : closed.map(renderAlert).join('\n');
        output.result({ alerts: closed.map(toJson) }, text);
        return closed.length === 0 ? EXIT.refused : EXIT.ok;
      }),
    );
  alerts
    .command('close')
    .description(
      `Close an alert. Closing ${CLOSED_BY_ORDER.slice(0, -1).join(', ')} or ${CLOSED_BY_ORDER.at(-1)} lets Sluice pay the settlement.`,
    )
    .addOption(new Option('--kind <kind>', 'kind of the alert').choices(ALERT_KINDS).makeOptionMandatory())
    .argument('<subject>', 'what it is about')
    .argument('[why]', `the reason, kept in its details; required for ${CLOSED_BY_ORDER.join(', ')}`)
    .action((subject, why, { kind }) =>
      run(alerts.opts(), async (output) => {
        const isOrder = CLOSED_BY_ORDER.some((one) => one === kind);
        const word = why === undefined && !isOrder ? undefined : ownWord(why ?? '');
        const closed = await withRecord((ledger) =>
          kind === PAID_BY_DEAD && word !== undefined
            ? ledger.settlements.continueUnpaid(subject, word)
            : ledger.alerts.close(kind, subject, word),
        );
        output.result({ closed }, closed ? 'closed' : 'no such alert is open');
        return closed ? EXIT.ok : EXIT.refused;
      }),
    );
}

function toJson(row: AlertRow | PauseRow): object {
  const link = 'kind' in row ? { runbook: runbookOf(row.kind) } : {};
  return { ...row, ...link, position: row.position.toString() };
}

function renderPause({ since, who, reason }: PauseRow): string {
  return `PAUSED since ${since.toISOString()} by ${who}: ${reason}`;
}

function renderAlert({ position, kind, subject, message, count, lastSeenAt, closedAt }: AlertRow): string {
  const times = count === 1 ? '' : ` (${count} times)`;
  const end = closedAt === null ? '' : ' closed';
  const next = closedAt === null ? nextStep({ position, kind, subject }) : '';
  const more = closedAt === null ? `; see ${runbookOf(kind)}` : '';
  return `${position}  ${lastSeenAt.toISOString()}  ${kind}${end}  ${subject}  ${message}${times}${next}${more}`;
}

/** The command that ends it, where one does. */
function nextStep({ position, kind, subject }: Pick<AlertRow, 'position' | 'kind' | 'subject'>): string {
  if (kind === PAID_BY_DEAD)
    return `; not so: \`sluice alerts close --kind ${kind} ${subject} <why>\` lets it be paid`;
  if (kind === KEEPS_FAILING)
    return `; cause mended: \`sluice alerts close --kind ${kind} ${subject} <why>\` lets more attempts follow`;
  if (kind === 'webhook_dead_letter') return `; \`sluice webhooks replay ${subject}\` tries again`;
  return ENDED_BY_A_LOOK.includes(kind) ? `; looked into: \`sluice alerts seen ${position} <why>\`` : '';
}
