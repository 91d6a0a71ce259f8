import { z } from 'zod';
import type { Webhook, WebhookDelivery, WebhookStanding } from '../client/webhooks.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_TOPICS } from '../domain/webhook.ts';
import { idParam, nextCursor, pageQuery, time } from './schemas.ts';

const topics = z
  .array(z.enum(WEBHOOK_TOPICS))
  .min(1)
  .refine((list) => new Set(list).size === list.length, 'must not name one twice')
  .readonly();

export const NewWebhookBody = z
  .strictObject({
    url: z.string().max(2_048).describe('https, and of an address of the public Internet'),
    events: topics.describe('Events, families as `withdrawal.*`, or `*` for all'),
  })
  .meta({ id: 'NewWebhook' });

const webhookFields = {
  id: z.string().describe('Ours, `wh_…`'),
  url: z.string().describe('Where events are sent'),
  events: z
    .array(z.enum(WEBHOOK_TOPICS))
    .readonly()
    .describe('What it is told: events, families as `withdrawal.*`, or `*` for all'),
  disabledBecause: z.string().nullable().describe('Why it is told nothing any more; null where it is told'),
  previousSecretUntil: time.nullable().describe('Until then the secret before the newest signs, too'),
  createdAt: time.describe('When it was added'),
};

export const WebhookBody = z.object(webhookFields).meta({ id: 'Webhook' }) satisfies z.ZodType<Webhook>;

export const WebhookWithSecretBody = z
  .object({
    ...webhookFields,
    secret: z.string().nullable().describe('Shown this once; null where none was made'),
  })
  .meta({ id: 'WebhookWithSecret' });

const WebhookStandingBody = z
  .object({
    ...webhookFields,
    waiting: z.int().describe('Events that wait for it; 100,000 at most are counted'),
    dead: z.int().describe('Dead letters'),
    lastError: z
      .string()
      .nullable()
      .describe(
        'What the newest failed try came to of an event that waits or is dead; null where none failed',
      ),
  })
  .meta({ id: 'WebhookStanding' }) satisfies z.ZodType<WebhookStanding>;

export const WebhooksBody = z
  .object({ webhooks: z.array(WebhookStandingBody).readonly().describe('Oldest first') })
  .meta({ id: 'Webhooks' });

export const WebhookParams = z.object({ id: idParam });

export const RotateBody = z.strictObject({
  keepPreviousHours: z
    .int()
    .min(0)
    .max(168)
    .default(24)
    .describe('How long the secret before signs along; 0 for one that leaked'),
});

export const DeliveriesQuery = z.strictObject({ state: z.enum(DELIVERY_STATES).optional(), ...pageQuery });

const DeliveryBody = z
  .object({
    event: z.string().describe('Id of the event: the `webhook-id` of each try'),
    type: z.enum(WEBHOOK_EVENTS).describe('What happened'),
    entity: z.string().describe('What it is about; its events come in their order'),
    state: z.enum(DELIVERY_STATES).describe('`dead` is tried no more until it is replayed'),
    attempts: z.int().describe('Tries that were counted'),
    lastError: z
      .string()
      .nullable()
      .describe('What the last try that failed came to; null where none failed'),
    createdAt: time.describe('When it happened'),
    settledAt: time.nullable().describe('When it was delivered or given up; null while it waits'),
  })
  .meta({ id: 'WebhookDelivery' }) satisfies z.ZodType<WebhookDelivery>;

export const DeliveriesBody = z
  .object({ deliveries: z.array(DeliveryBody).readonly().describe('Newest first'), nextCursor })
  .meta({ id: 'WebhookDeliveryPage' });

export const ReplayBody = z.strictObject({
  event: idParam.optional().describe('Only this event; default all dead letters'),
});

export const ReplayedBody = z.object({ replayed: z.int().describe('How many wait again') });
