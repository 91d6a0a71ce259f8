import { z } from 'zod';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_TOPICS } from '../../domain/webhook.ts';
import { pageOf } from '../route.ts';
import { idParam, numbersTo, pageQuery, text, textOrNull, time } from '../schemas.ts';

const topics = z
  .array(z.enum(WEBHOOK_TOPICS))
  .min(1)
  .refine((list) => new Set(list).size === list.length, 'must not name one twice')
  .meta({ uniqueItems: true })
  .readonly();

const BYTE = `(0|${numbersTo(255n)})`;
const NAME = '([A-Za-z0-9-]{1,63}\\.)*[A-Za-z][A-Za-z0-9-]{0,62}';
const HOST = `(${NAME}|(${BYTE}\\.){3}${BYTE})`;
/** IPv6 addresses are refused: such an endpoint needs a host name. */
const ENDPOINT = new RegExp(`^https?://${HOST}(:${numbersTo(65_535n)})?([/?][!-"$-~]*)?$`);

export const NewWebhookBody = z
  .strictObject({
    url: z
      .string()
      .max(2_048)
      .regex(
        ENDPOINT,
        'must be an http or https URL of a host name or an IPv4 address, without user or fragment',
      )
      .describe(
        'https URL of a public host. Plain http and private hosts only with SLUICE_WEBHOOK_ALLOW_PRIVATE',
      ),
    events: topics.describe('Event types, groups such as `withdrawal.*`, or `*` for all'),
  })
  .meta({ id: 'NewWebhook' });

const webhookFields = {
  id: text('Id of the endpoint, `wh_…`'),
  url: text('URL that receives the events'),
  events: z
    .array(z.enum(WEBHOOK_TOPICS))
    .readonly()
    .describe('Event types, groups such as `withdrawal.*`, or `*` for all'),
  disabledBecause: textOrNull('Why the endpoint is disabled; null if it is enabled'),
  previousSecretUntil: time
    .nullable()
    .describe('Time until which the previous secret also signs; null if it does not'),
  createdAt: time.describe('Time of creation'),
};

export const WebhookBody = z.object(webhookFields).meta({ id: 'Webhook' });

export const WebhookWithSecretBody = z
  .object({
    ...webhookFields,
    secret: textOrNull('Signing secret, only in this response; null if no new secret was created'),
  })
  .meta({ id: 'WebhookWithSecret' });

const WebhookStandingBody = z
  .object({
    ...webhookFields,
    waiting: z.int().describe('Number of undelivered events; counted up to 100,000'),
    dead: z.int().describe('Number of deliveries in state `dead`'),
    lastError: textOrNull('Error of the newest failed try of an undelivered event; null if there is none'),
  })
  .meta({ id: 'WebhookWithBacklog' });

export const WebhooksBody = z
  .object({ webhooks: z.array(WebhookStandingBody).readonly().describe('Oldest first') })
  .meta({ id: 'Webhooks' });

export const RotateBody = z.strictObject({
  keepPreviousHours: z
    .int()
    .min(0)
    .max(168)
    .default(24)
    .describe('Hours in which the previous secret also signs; 0 if it leaked'),
});

export const DeliveriesQuery = z.strictObject({ state: z.enum(DELIVERY_STATES).optional(), ...pageQuery });

const DeliveryBody = z
  .object({
    event: text('Id of the event, sent as `webhook-id` with each try'),
    type: z.enum(WEBHOOK_EVENTS).describe('Event type'),
    entity: text('Subject of the event; events of one subject are delivered in order'),
    state: z
      .enum(DELIVERY_STATES)
      .describe('State of the delivery; a `dead` delivery is tried again only after a replay'),
    attempts: z.int().describe('Number of tries'),
    lastError: textOrNull('Error of the last failed try; null if there is none'),
    createdAt: time.describe('Time of the event'),
    settledAt: time
      .nullable()
      .describe('Time of the delivery, or of the last try of a `dead` delivery; null while it waits'),
  })
  .meta({ id: 'WebhookDelivery' });

export const DeliveriesBody = pageOf('WebhookDeliveryPage', 'deliveries', DeliveryBody);

export const ReplayBody = z.strictObject({
  event: idParam.optional().describe('Id of one event; default: every delivery in state `dead`'),
});

export const ReplayedBody = z.object({
  replayed: z.int().describe('Number of deliveries that are tried again'),
});
