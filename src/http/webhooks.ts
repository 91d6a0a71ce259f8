import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { Webhook, WebhookDelivery, WebhookStanding, WebhookWithSecret } from '../client/webhooks.ts';
import { DomainError } from '../domain/errors.ts';
import type { DeliveryRow } from '../ledger/deliveries.ts';
import { NOTHING_WAITS } from '../ledger/delivery-standing.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FreshSecret, WebhookRow } from '../ledger/webhooks.ts';
import { faultOfUrl } from '../webhooks/public-address.ts';
import { problems } from './schemas.ts';
import {
  DeliveriesBody,
  DeliveriesQuery,
  NewWebhookBody,
  ReplayBody,
  ReplayedBody,
  RotateBody,
  WebhookBody,
  WebhookParams,
  WebhooksBody,
  WebhookWithSecretBody,
} from './webhook-schemas.ts';

export interface WebhookRouteDeps {
  readonly ledger: Ledger;
  /** Private addresses and plain http may be given. @default false */
  readonly allowPrivateWebhooks?: boolean;
}

const tags = ['webhooks'];

/** `/v1/webhooks`: who is told of events. */
export function webhookRoutes(deps: WebhookRouteDeps): FastifyPluginAsyncZod {
  const { webhooks } = deps.ledger;
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/webhooks',
      schema: {
        tags,
        summary: 'Add an endpoint',
        description:
          'One endpoint a URL: the same URL again changes its events. The secret of a new one is shown in this answer and never again.',
        body: NewWebhookBody,
        response: { 200: WebhookWithSecretBody, ...problems },
      },
      handler: async ({ body: { url, events } }) => {
        const fault = faultOfUrl(url, deps.allowPrivateWebhooks ?? false);
        if (fault !== null) throw new DomainError('InvalidRequest', `url: ${fault}`, { field: 'url' });
        return presentSecret(await webhooks.put(new URL(url).href, events));
      },
    });
    await app.register(endpointRoutes(deps));
    await app.register(secretRoutes(deps));
    await app.register(deliveryRoutes(deps));
  };
}

function endpointRoutes({ ledger }: WebhookRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/webhooks',
      schema: {
        tags,
        summary: 'List endpoints, and what they have not heard yet',
        response: { 200: WebhooksBody, ...problems },
      },
      handler: async () => ({ webhooks: await listed(ledger) }),
    });
    app.route({
      method: 'DELETE',
      url: '/v1/webhooks/:id',
      schema: {
        tags,
        summary: 'Delete an endpoint, with all that it was not told',
        params: WebhookParams,
        response: { 200: WebhookBody, ...problems },
      },
      handler: async ({ params: { id } }) => present(await ledger.webhooks.remove(id)),
    });
  };
}

async function listed({ webhooks, deliveries }: Ledger): Promise<readonly WebhookStanding[]> {
  const standings = await deliveries.standings();
  const rows = await webhooks.list();
  return rows.map((row) => ({ ...present(row), ...(standings.get(row.id) ?? NOTHING_WAITS) }));
}

function secretRoutes({ ledger: { webhooks } }: WebhookRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/webhooks/:id/rotate',
      schema: {
        tags,
        summary: 'Give a new secret',
        description:
          'Until the hours are over each request carries two signatures, by the new secret and by the one before. Asked again meanwhile, only the new one is replaced.',
        params: WebhookParams,
        body: RotateBody,
        response: { 200: WebhookWithSecretBody, ...problems },
      },
      handler: async ({ params: { id }, body }) =>
        presentSecret(await webhooks.rotate(id, body.keepPreviousHours)),
    });
    app.route({
      method: 'POST',
      url: '/v1/webhooks/:id/enable',
      schema: {
        tags,
        summary: 'Tell it again, from now on',
        params: WebhookParams,
        response: { 200: WebhookBody, ...problems },
      },
      handler: async ({ params: { id } }) => present(await webhooks.enable(id)),
    });
  };
}

function deliveryRoutes({ ledger: { webhooks, deliveries } }: WebhookRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'GET',
      url: '/v1/webhooks/:id/deliveries',
      schema: {
        tags,
        summary: 'List what it was told, newest first; dead letters by state=dead',
        params: WebhookParams,
        querystring: DeliveriesQuery,
        response: { 200: DeliveriesBody, ...problems },
      },
      handler: async ({ params: { id }, query }) => {
        const { id: endpoint } = await webhooks.get(id);
        const { rows, nextCursor } = await deliveries.list({ endpoint, ...query });
        return { deliveries: rows.map(presentDelivery), nextCursor };
      },
    });
    app.route({
      method: 'POST',
      url: '/v1/webhooks/:id/replay',
      schema: {
        tags,
        summary: 'Try dead letters again',
        description: 'They come after what was delivered since.',
        params: WebhookParams,
        body: ReplayBody,
        response: { 200: ReplayedBody, ...problems },
      },
      handler: async ({ params: { id }, body }) => {
        const { id: endpoint } = await webhooks.get(id);
        return { replayed: await deliveries.replay(endpoint, body.event) };
      },
    });
  };
}

function present({ id, url, events, disabledBecause, previousSecretUntil, createdAt }: WebhookRow): Webhook {
  return {
    id,
    url,
    events,
    disabledBecause,
    previousSecretUntil: previousSecretUntil?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}

function presentSecret({ row, secret }: FreshSecret): WebhookWithSecret {
  return { ...present(row), secret };
}

function presentDelivery(row: DeliveryRow): WebhookDelivery {
  const { id: event, type, entity, state, attempts, lastError, createdAt, settledAt } = row;
  return {
    event,
    type,
    entity,
    state,
    attempts,
    lastError,
    createdAt: createdAt.toISOString(),
    settledAt: settledAt?.toISOString() ?? null,
  };
}
