import { Argument, type Command, Option } from '@commander-js/extra-typings';
import type { WebhookDelivery, WebhookWithBacklog, WebhookWithSecret } from '../client/client.ts';
import { DELIVERY_STATES, WEBHOOK_TOPICS } from '../domain/webhook.ts';
import { apiCommand, type Columns, call, list, table, withPageOptions, YES_OPTION } from './command.ts';
import { requireConsent } from './consent.ts';
import { EXIT, UsageError } from './exit.ts';

const COLUMNS: Columns<WebhookWithBacklog> = {
  id: ({ id }) => id,
  url: ({ url }) => url,
  events: ({ events }) => events.join(' '),
  state: ({ disabledBecause }) => (disabledBecause === null ? 'on' : `off: ${disabledBecause}`),
  waiting: ({ waiting }) => String(waiting),
  dead: ({ dead }) => String(dead),
  'last error': ({ lastError }) => lastError ?? '',
};

export function registerWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('Create, list and delete webhook endpoints, and replay events');
  apiCommand(webhooks, 'list', 'List webhook endpoints, with their waiting and dead events').action(
    (options) =>
      call(
        options,
        async (sluice) => ({ webhooks: await sluice.webhooks.list() }),
        (answer) => table('webhooks', COLUMNS, answer.webhooks),
      ),
  );
  registerCreate(webhooks);
  registerSecretRotation(webhooks);
  registerDelete(webhooks);
  registerDeliveries(webhooks);
  registerReplay(webhooks);
}

function registerCreate(webhooks: Command): void {
  apiCommand(
    webhooks,
    'create',
    'Create an endpoint, or change its events; prints the secret of a new endpoint once',
  )
    .argument('<url>', 'URL that receives events')
    .addArgument(
      new Argument('[events...]', 'Events, such as withdrawal.finalized or deposit.* (default: all)').choices(
        WEBHOOK_TOPICS,
      ),
    )
    .action((url, events, options) =>
      call(
        options,
        (sluice) =>
          sluice.webhooks.put(
            url,
            events.length === 0 ? ['*'] : WEBHOOK_TOPICS.filter((topic) => events.includes(topic)),
          ),
        renderCreated,
      ),
    );
}

function registerSecretRotation(webhooks: Command): void {
  apiCommand(webhooks, 'rotate-secret', 'Create a new secret and print it once')
    .argument('<id>', 'Webhook ID')
    .option(
      '--keep-hours <hours>',
      'Hours for which the previous secret also signs deliveries, 0 to 168',
      '24',
    )
    .option(...YES_OPTION)
    .action((id, { keepHours, ...options }) =>
      call(
        options,
        async (sluice) => {
          const hours = hoursOf(keepHours);
          if (hours === 0)
            await requireConsent(options, `This replaces the secret of webhook ${id} without an overlap`);
          return sluice.webhooks.rotate(id, hours);
        },
        ({ secret }) => secret ?? '',
      ),
    );
  apiCommand(webhooks, 'enable', 'Send events to a disabled endpoint again')
    .argument('<id>', 'Webhook ID')
    .action((id, options) =>
      call(
        options,
        (sluice) => sluice.webhooks.enable(id),
        ({ url }) => `enabled ${url}`,
      ),
    );
}

function registerDelete(webhooks: Command): void {
  apiCommand(webhooks, 'delete', 'Delete an endpoint and its undelivered events')
    .argument('<id>', 'Webhook ID')
    .option(...YES_OPTION)
    .action((id, options) =>
      call(
        options,
        async (sluice) => {
          await requireConsent(options, `This deletes webhook ${id} and its undelivered events`);
          return sluice.webhooks.remove(id);
        },
        ({ url }) => `deleted ${url}`,
      ),
    );
}

const DELIVERY_COLUMNS: Columns<WebhookDelivery> = {
  event: ({ event }) => event,
  type: ({ type }) => type,
  about: ({ entity }) => entity,
  since: ({ createdAt }) => createdAt,
  tries: ({ attempts }) => String(attempts),
  'last error': ({ lastError }) => lastError ?? '',
};

function registerDeliveries(webhooks: Command): void {
  withPageOptions(
    apiCommand(webhooks, 'deliveries', 'List deliveries to an endpoint, newest first')
      .argument('<id>', 'Webhook ID')
      .addOption(
        new Option('--state <state>', 'State of the deliveries')
          .choices(DELIVERY_STATES)
          .default('waiting' as const),
      ),
  ).action((id, { state, ...options }) =>
    list(options, 'deliveries', DELIVERY_COLUMNS, (sluice, { limit, cursor }) =>
      sluice.webhooks.deliveries(id, { state, limit, cursor: cursor ?? undefined }),
    ),
  );
}

function registerReplay(webhooks: Command): void {
  apiCommand(webhooks, 'replay', 'Try the dead deliveries of an endpoint again, or only one of them')
    .argument('<id>', 'Webhook ID')
    .argument('[event]', 'ID of the event of one dead delivery (default: all dead deliveries)')
    .action((id, event, options) =>
      call(
        options,
        (sluice) => sluice.webhooks.replay(id, event),
        ({ replayed }) => renderReplayed(replayed, event),
        ({ replayed }) => (replayed > 0 ? EXIT.ok : EXIT.refused),
      ),
    );
}

function hoursOf(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) <= 168) return Number(text);
  throw new UsageError(`--keep-hours must be a whole number from 0 to 168, not ${text}`);
}

function renderCreated({ id, secret, disabledBecause }: WebhookWithSecret): string {
  const disabledNote =
    disabledBecause === null ? [] : [`disabled (${disabledBecause}) until \`sluice webhooks enable ${id}\``];
  return [id, secret ?? 'events changed; the secret stays the same', ...disabledNote].join('\n');
}

function renderReplayed(replayed: number, eventId: string | undefined): string {
  if (replayed > 0) return `${replayed} ${replayed === 1 ? 'event waits' : 'events wait'} for delivery again`;
  return eventId === undefined
    ? 'the endpoint has no dead events'
    : `the endpoint has no dead event with the ID ${eventId}`;
}
