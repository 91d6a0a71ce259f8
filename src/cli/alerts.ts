import { type Command, Option } from '@commander-js/extra-typings';
import type { Alert, Pause } from '../client/client.ts';
import { CLOSED_BY_ORDER, ENDED_BY_A_LOOK, runbookOf } from '../domain/alerts.ts';
import { KEEPS_FAILING } from '../domain/chain-failures.ts';
import { PAID_BY_DEAD } from '../domain/settlement.ts';
import type { AlertRow } from '../ledger/operations/alerts.ts';
import { apiCommand, type Columns, print, REASON_OPTION, table, YES_OPTION } from './command.ts';
import { requireConsent } from './consent.ts';
import { byApiOrDatabase, DATABASE_OPTION, operatorNote, parsePositions } from './database.ts';
import { EXIT } from './exit.ts';

const MAX_LISTED = 200;

export function registerAlerts(program: Command): void {
  const alerts = program.command('alerts').description('List, acknowledge and close alerts');
  registerList(alerts);
  registerAcknowledge(alerts);
  registerClose(alerts);
}

function registerList(alerts: Command): void {
  apiCommand(alerts, 'list', `List open pauses, and the newest ${MAX_LISTED} open alerts`)
    .option('--all', 'Include closed alerts')
    .option(...DATABASE_OPTION)
    .action((options) => {
      const filter = options.all === true ? {} : { open: true };
      const fetchAlerts = () =>
        byApiOrDatabase<{ alerts: readonly Alert[]; pauses: readonly Pause[] }>(options, {
          api: async (sluice) => ({
            alerts: (await sluice.alerts.page(filter, { limit: MAX_LISTED })).alerts,
            pauses: await sluice.pauses.open(),
          }),
          database: async (ledger) => ({
            alerts: (await ledger.alerts.list({ ...filter, limit: MAX_LISTED })).rows.map(withRunbook),
            pauses: await ledger.pauses.listOpen(),
          }),
        });
      return print(options, fetchAlerts, ({ alerts: found, pauses }) =>
        [...pauses.map(renderPause), renderAlerts(found)].join('\n'),
      );
    });
}

function registerAcknowledge(alerts: Command): void {
  apiCommand(
    alerts,
    'acknowledge',
    'Close alerts that you have investigated and that do not close by themselves',
  )
    .argument('<positions>', 'Positions of the alerts in `sluice alerts list`, such as 17,18', parsePositions)
    .requiredOption(...REASON_OPTION)
    .option(...DATABASE_OPTION)
    .action((seen, options) => {
      const acknowledge = async () => ({
        alerts: await byApiOrDatabase<readonly Alert[]>(options, {
          api: (sluice) => sluice.alerts.acknowledge(seen, options.reason),
          database: async (ledger) =>
            (await ledger.alerts.acknowledge(seen.map(BigInt), operatorNote(options.reason))).map(
              withRunbook,
            ),
        }),
      });
      return print(
        options,
        acknowledge,
        (closed) => renderAlerts(closed.alerts),
        (closed) => (closed.alerts.length === 0 ? EXIT.refused : EXIT.ok),
      );
    });
}

function registerClose(alerts: Command): void {
  apiCommand(alerts, 'close', 'Close an alert that stops a settlement; Sluice can then pay the settlement')
    .addOption(
      new Option('--kind <kind>', 'Kind of the alert').choices(CLOSED_BY_ORDER).makeOptionMandatory(),
    )
    .requiredOption('--subject <subject>', 'Subject of the alert, such as a withdrawal ID')
    .requiredOption(...REASON_OPTION)
    .option(...YES_OPTION)
    .option(...DATABASE_OPTION)
    .action((options) => {
      const { kind, subject, reason } = options;
      const close = async () => {
        await requireConsent(
          options,
          `This closes the alert ${kind} about ${subject}: Sluice can then pay ${subject}`,
        );
        const closed = await byApiOrDatabase<boolean>(options, {
          api: (sluice) => sluice.alerts.close(kind, subject, reason),
          database: (ledger) =>
            kind === PAID_BY_DEAD
              ? ledger.settlements.continueUnpaid(subject, operatorNote(reason))
              : ledger.alerts.close(kind, subject, operatorNote(reason)),
        });
        return { closed };
      };
      return print(
        options,
        close,
        ({ closed }) =>
          closed ? 'alert closed' : `no open alert of kind ${kind} has the subject ${subject}`,
        ({ closed }) => (closed ? EXIT.ok : EXIT.refused),
      );
    });
}

const COLUMNS: Columns<Alert> = {
  position: ({ position }) => position,
  'last seen': ({ lastSeenAt }) => lastSeenAt,
  kind: ({ kind, closedAt }) => (closedAt === null ? kind : `${kind} closed`),
  subject: ({ subject }) => subject,
  message: (alert) => renderMessage(alert),
};

function renderPause({ since, actor, scope, reason }: Pause): string {
  return `PAUSED (${scope}) since ${since} by ${actor}: ${reason}`;
}

function renderAlerts(alerts: readonly Alert[]): string {
  return table('alerts', COLUMNS, alerts);
}

function renderMessage(alert: Alert): string {
  const times = alert.count === 1 ? '' : ` (${alert.count} times)`;
  return `${alert.message}${times}${alert.closedAt === null ? `${nextStep(alert)}; see ${alert.runbook}` : ''}`;
}

function withRunbook(row: AlertRow): object {
  return { ...row, runbook: runbookOf(row.kind) };
}

function nextStep({ position, kind, subject }: Alert): string {
  const close = `\`sluice alerts close --kind ${kind} --subject ${subject} --reason <text>\``;
  if (kind === PAID_BY_DEAD) return `; if the payment has not landed: ${close} lets Sluice pay it`;
  if (kind === KEEPS_FAILING) return `; after the cause is fixed: ${close} allows more attempts`;
  if (kind === 'webhook_dead_letter')
    return `; \`sluice webhooks replay ${subject}\` tries to deliver it again`;
  return ENDED_BY_A_LOOK.includes(kind)
    ? `; after you have investigated it: \`sluice alerts acknowledge ${position} --reason <text>\``
    : '';
}
