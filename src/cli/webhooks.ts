import { type Command, Option } from '@commander-js/extra-typings';
import type {
  DeliveryState,
  WebhookDelivery,
  WebhookStanding,
  WebhookTopic,
  WebhookWithSecret,
} from '../client/client.ts';
import { DELIVERY_STATES, WEBHOOK_TOPICS } from '../domain/webhook.ts';
import { inColumns } from './columns.ts';
import { connect } from './connection.ts';
import { EXIT, UsageError } from './exit.ts';
import { JSON_OPTION, type Output, run } from './output.ts';

const SHOWN = 200;
const NONE = 'no webhooks yet: `sluice webhooks add URL` makes one';

/** `sluice webhooks`, and `add`, `remove`, `rotate`, `enable`, `deliveries`, `dead` and `replay` below it. */
export function registerWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('list the endpoints that are told of events, and what they have not heard yet')
    .option(...JSON_OPTION)
    .action((options) =>
      run(options, async (output) => {
        const list = await connect().webhooks.list();
        output.result({ webhooks: list }, list.length === 0 ? NONE : render(list));
        return EXIT.ok;
      }),
    );
  registerEndpoints(webhooks);
  registerDeliveries(webhooks);
}

// Options of the parent hold for its commands, too: `optsWithGlobals` reads --json wherever it stands.
type Parent = Command<[], { json?: true | undefined }>;

function registerEndpoints(webhooks: Parent): void {
  webhooks
    .command('add')
    .description('add an endpoint, or change the events of one; prints the secret of a new one, once')
    .argument('<url>')
    .argument('[events...]', 'as withdrawal.finalized, deposit.*, or * (default)')
    .option(...JSON_OPTION)
    .action((url, events, _options, command) =>
      run(command.optsWithGlobals(), async (output) => {
        const made = await connect().webhooks.put(url, topicsOf(events));
        output.result(made, renderAdded(made));
        return EXIT.ok;
      }),
    );
  webhooks
    .command('rotate')
    .description('print a new secret, once; the one before signs along for a while')
    .argument('<id>')
    .option('--keep-hours <hours>', 'how long; 0 for a secret that leaked', '24')
    .option(...JSON_OPTION)
    .action((id, options, command) =>
      run(command.optsWithGlobals(), async (output) => {
        const made = await connect().webhooks.rotate(id, hoursOf(options.keepHours));
        output.result(made, made.secret ?? '');
        return EXIT.ok;
      }),
    );
  for (const [name, description] of [
    ['remove', 'delete an endpoint, with all that it was not told'],
    ['enable', 'tell an endpoint again that was told nothing any more'],
  ] as const)
    webhooks
      .command(name)
      .description(description)
      .argument('<id>')
      .option(...JSON_OPTION)
      .action((id, _options, command) =>
        run(command.optsWithGlobals(), async (output) => {
          const webhook = await connect().webhooks[name](id);
          output.result(webhook, `${name}d ${webhook.url}`);
          return EXIT.ok;
        }),
      );
}

function registerDeliveries(webhooks: Parent): void {
  webhooks
    .command('deliveries')
    .description('list events on their way to an endpoint, with their tries, newest first')
    .argument('<id>')
    .addOption(
      new Option('--state <state>', 'only those').choices(DELIVERY_STATES).default('waiting' as const),
    )
    .option(...JSON_OPTION)
    .action((id, { state }, command) =>
      run(command.optsWithGlobals(), (output) => listDeliveries(id, state, output)),
    );
  webhooks
    .command('dead')
    .description('list the events that an endpoint was not told in all their tries, newest first')
    .argument('<id>')
    .option(...JSON_OPTION)
    .action((id, _options, command) =>
      run(command.optsWithGlobals(), (output) => listDeliveries(id, 'dead', output)),
    );
  webhooks
    .command('replay')
    .description('try the dead letters of an endpoint again, or one of them')
    .argument('<id>')
    .argument('[event]', 'id of the event; default all')
    .option(...JSON_OPTION)
    .action((id, event, _options, command) =>
      run(command.optsWithGlobals(), async (output) => {
        const answer = await connect().webhooks.replay(id, event);
        output.result(answer, renderReplayed(answer.replayed, event));
        return answer.replayed > 0 ? EXIT.ok : EXIT.refused;
      }),
    );
}

function topicsOf(words: readonly string[]): readonly WebhookTopic[] {
  const known = WEBHOOK_TOPICS.filter((topic) => words.includes(topic));
  const unknown = words.find((word) => !known.some((topic) => topic === word));
  if (unknown !== undefined)
    throw new UsageError(`${unknown} is no event; events are ${WEBHOOK_TOPICS.join(', ')}`);
  return known.length === 0 ? ['*'] : known;
}

function hoursOf(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) <= 168) return Number(text);
  throw new UsageError('--keep-hours must be a whole number, 0 to 168');
}

async function listDeliveries(id: string, state: DeliveryState, output: Output): Promise<number> {
  const page = await connect().webhooks.deliveries(id, { state, limit: SHOWN });
  const none = state === 'dead' ? 'no dead letters' : `nothing ${state}`;
  output.result(page, page.deliveries.length === 0 ? none : renderDeliveries(page.deliveries));
  return EXIT.ok;
}

function renderAdded({ id, secret, disabledBecause }: WebhookWithSecret): string {
  const off =
    disabledBecause === null ? [] : [`it is off (${disabledBecause}) until \`sluice webhooks enable\``];
  return [id, secret ?? 'changed; its secret is as before', ...off].join('\n');
}

function renderReplayed(replayed: number, event: string | undefined): string {
  if (replayed > 0) return `${replayed} wait again`;
  return event === undefined ? 'there are no dead letters' : `no dead letter is the event ${event}`;
}

function render(list: readonly WebhookStanding[]): string {
  const rows = list.map(({ id, url, events, disabledBecause, waiting, dead, lastError }) => [
    id,
    url,
    events.join(' '),
    disabledBecause === null ? 'on' : `off: ${disabledBecause}`,
    String(waiting),
    String(dead),
    lastError ?? '',
  ]);
  return inColumns([['id', 'url', 'events', 'state', 'waiting', 'dead', 'last error'], ...rows]).join('\n');
}

function renderDeliveries(deliveries: readonly WebhookDelivery[]): string {
  const rows = deliveries.map(({ event, type, entity, attempts, createdAt, lastError }) => [
    event,
    type,
    entity,
    createdAt,
    String(attempts),
    lastError ?? '',
  ]);
  return inColumns([['event', 'type', 'about', 'since', 'tries', 'last error'], ...rows]).join('\n');
}
