import { z } from 'zod';
import type { Webhook, WebhookDelivery, WebhookStanding } from '../client/webhooks.ts';
import { DELIVERY_STATES, WEBHOOK_EVENTS, WEBHOOK_TOPICS } from '../domain/webhook.ts';
import { idParam, pageQuery, time } from './schemas.ts';

const topics = z
  .array(z.enum(WEBHOOK_TOPICS))
  .min(1)
  .refine((list) => new Set(list).size === list.length, 'must not name one twice')
  .readonly();

export const NewWebhookBody = z
  .strictObject({
    url: z.string().max(2_048).meta({ description: 'https, and of an address of the public Internet' }),
    events: topics.meta({ description: 'Events, families as `withdrawal.*`, or `*` for all' }),
  })
  .meta({ id: 'NewWebhook' });

const webhookFields = {
  id: z.string(),
  url: z.string(),
  events: z.array(z.enum(WEBHOOK_TOPICS)).readonly(),
  disabledBecause: z
    .string()
    .nullable()
    .meta({ description: 'Why it is told nothing any more; null where it is told' }),
  previousSecretUntil: time
    .nullable()
    .meta({ description: 'Until then the secret before the newest signs, too' }),
  createdAt: time,
};

export const WebhookBody = z.object(webhookFields).meta({ id: 'Webhook' }) satisfies z.ZodType<Webhook>;

export const WebhookWithSecretBody = z
  .object({
    ...webhookFields,
    secret: z.string().nullable().meta({ description: 'Shown this once; null where none was made' }),
  })
  .meta({ id: 'WebhookWithSecret' });

const WebhookStandingBody = z
  .object({
    ...webhookFields,
    waiting: z.int().meta({ description: 'Events that wait for it' }),
    dead: z.int().meta({ description: 'Dead letters' }),
    lastError: z.string().nullable().meta({
      description: 'What the newest failed try came to of an event that waits; null where none failed',
    }),
  })
  .meta({ id: 'WebhookStanding' }) satisfies z.ZodType<WebhookStanding>;

export const WebhooksBody = z
  .object({ webhooks: z.array(WebhookStandingBody).readonly() })
  .meta({ id: 'Webhooks' });

export const WebhookParams = z.object({ id: idParam });

export const RotateBody = z.strictObject({
  keepPreviousHours: z.int().min(0).max(168).default(24).meta({
    description: 'How long the secret before signs along; 0 for one that leaked',
  }),
});

export const DeliveriesQuery = z.strictObject({ state: z.enum(DELIVERY_STATES).optional(), ...pageQuery });

const DeliveryBody = z
  .object({
    event: z.string().meta({ description: 'Id of the event: the `webhook-id` of each try' }),
    type: z.enum(WEBHOOK_EVENTS),
    entity: z.string().meta({ description: 'What it is about; its events come in their order' }),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    lastError: z.string().nullable(),
    createdAt: time,
    settledAt: time.nullable(),
  })
  .meta({ id: 'WebhookDelivery' }) satisfies z.ZodType<WebhookDelivery>;

export const DeliveriesBody = z
  .object({ deliveries: z.array(DeliveryBody).readonly(), nextCursor: z.string().nullable() })
  .meta({ id: 'WebhookDeliveryPage' });

export const ReplayBody = z.strictObject({
  event: idParam.optional().meta({ description: 'Only this event; default all dead letters' }),
});

export const ReplayedBody = z.object({ replayed: z.int() });
