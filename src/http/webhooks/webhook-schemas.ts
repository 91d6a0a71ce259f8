import { z } from 'zod';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_TOPICS } from '../../domain/webhook.ts';
import { pageOf } from '../route.ts';
import { idParam, pageQuery, patternUpTo, text, textOrNull, time } from '../schemas.ts';

const topics = z
  .array(z.enum(WEBHOOK_TOPICS))
  .min(1)
  .refine((list) => new Set(list).size === list.length, 'must not list a topic twice')
  .meta({ uniqueItems: true })
  .readonly();

const BYTE = `(0|${patternUpTo(255n)})`;
const NAME = '([A-Za-z0-9-]{1,63}\\.)*[A-Za-z][A-Za-z0-9-]{0,62}';
const HOST = `(${NAME}|(${BYTE}\\.){3}${BYTE})`;
/** Refuses IPv6 addresses: an endpoint that has only IPv6 needs a host name. */
const ENDPOINT = new RegExp(`^https?://${HOST}(:${patternUpTo(65_535n)})?([/?][!-"$-~]*)?$`);

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
        'https URL of a public host. Plain http and private hosts are accepted only with SLUICE_WEBHOOK_ALLOW_PRIVATE',
      ),
    events: topics.describe(
      'Event types to send: single types, groups such as `withdrawal.*`, or `*` for all',
    ),
  })
  .meta({ id: 'NewWebhook' });

const webhookFields = {
  id: text('Id of the endpoint, `wh_…`'),
  url: text('URL that receives the events'),
  events: z
    .array(z.enum(WEBHOOK_TOPICS))
    .readonly()
    .describe('Event types to send: single types, groups such as `withdrawal.*`, or `*` for all'),
  disabledBecause: textOrNull('Why the endpoint is disabled; null if it is enabled'),
  previousSecretUntil: time
    .nullable()
    .describe(
      'Time until which deliveries are also signed with the previous secret; null if there is no previous secret',
    ),
  createdAt: time.describe('Time at which the endpoint was created'),
};

export const WebhookBody = z.object(webhookFields).meta({ id: 'Webhook' });

export const WebhookWithSecretBody = z
  .object({
    ...webhookFields,
    secret: textOrNull('Signing secret, returned only in this response; null if no new secret was created'),
  })
  .meta({ id: 'WebhookWithSecret' });

const WebhookWithBacklogBody = z
  .object({
    ...webhookFields,
    waiting: z.int().describe('Number of events that wait for delivery. Counted only up to 100,000'),
    dead: z.int().describe('Number of deliveries in state `dead`. Counted only up to 100,000'),
    lastError: textOrNull(
      'Error of the newest failed try of an undelivered event; null if no try has failed',
    ),
  })
  .meta({ id: 'WebhookWithBacklog' });

export const WebhooksBody = z
  .object({
    webhooks: z.array(WebhookWithBacklogBody).readonly().describe('Webhook endpoints, oldest first'),
  })
  .meta({ id: 'Webhooks' });

export const RotateBody = z.strictObject({
  keepPreviousHours: z
    .int()
    .min(0)
    .max(168)
    .default(24)
    .describe(
      'Hours for which deliveries are also signed with the previous secret; pass 0 if that secret has leaked',
    ),
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
    attempts: z.int().describe('Number of tries since the event occurred or was last replayed'),
    lastError: textOrNull('Error of the last failed try; null if no try has failed, or after the delivery'),
    createdAt: time.describe('Time of the event'),
    settledAt: time
      .nullable()
      .describe(
        'Time at which the event was delivered, or the delivery became `dead`; null while the delivery waits',
      ),
  })
  .meta({ id: 'WebhookDelivery' });

export const DeliveriesBody = pageOf('WebhookDeliveryPage', 'deliveries', DeliveryBody);

export const ReplayBody = z.strictObject({
  event: idParam.optional().describe('Id of one event; default: every delivery in state `dead`'),
});

export const ReplayedBody = z.object({
  replayed: z.int().describe('Number of deliveries that Sluice tries again'),
});
