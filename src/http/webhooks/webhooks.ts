import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type {
  Webhook,
  WebhookDelivery,
  WebhookWithBacklog,
  WebhookWithSecret,
} from '../../client/webhooks.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { NOTHING_WAITS } from '../../ledger/webhooks/backlogs.ts';
import type { DeliveryRow } from '../../ledger/webhooks/deliveries.ts';
import type { FreshSecret, WebhookRow } from '../../ledger/webhooks/webhooks.ts';
import { faultOfUrl } from '../../webhooks/public-address.ts';
import { problems } from '../schemas.ts';
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
  /** Allows private addresses and plain http. @default false */
  readonly allowPrivateWebhooks?: boolean;
}

const tags = ['webhooks'];

export function webhookRoutes(deps: WebhookRouteDeps): FastifyPluginAsyncZod {
  const { webhooks } = deps.ledger;
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/webhooks',
      schema: {
        operationId: 'createWebhook',
        tags,
        summary: 'Create a webhook endpoint',
        description:
          'A URL has one endpoint. If it exists, its events are replaced. The secret of a new endpoint is only in this response.',
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
        operationId: 'listWebhooks',
        tags,
        summary: 'List webhook endpoints and their undelivered events',
        response: { 200: WebhooksBody, ...problems },
      },
      handler: async () => ({ webhooks: await listed(ledger) }),
    });
    app.route({
      method: 'DELETE',
      url: '/v1/webhooks/:id',
      schema: {
        operationId: 'deleteWebhook',
        tags,
        summary: 'Delete a webhook endpoint and its undelivered events',
        params: WebhookParams,
        response: { 200: WebhookBody, ...problems },
      },
      handler: async ({ params: { id } }) => present(await ledger.webhooks.remove(id)),
    });
  };
}

async function listed({ webhooks, deliveries }: Ledger): Promise<readonly WebhookWithBacklog[]> {
  const backlogs = await deliveries.backlogs();
  const rows = await webhooks.list();
  return rows.map((row) => ({ ...present(row), ...(backlogs.get(row.id) ?? NOTHING_WAITS) }));
}

function secretRoutes({ ledger: { webhooks } }: WebhookRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.route({
      method: 'POST',
      url: '/v1/webhooks/:id/rotate',
      schema: {
        operationId: 'rotateWebhookSecret',
        tags,
        summary: 'Rotate the signing secret of an endpoint',
        description:
          'For `keepPreviousHours`, each delivery has two signatures: one with the new secret and one with the previous secret. A second rotation in that time replaces only the new secret.',
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
        operationId: 'enableWebhook',
        tags,
        summary: 'Enable a disabled endpoint',
        description: 'The endpoint receives new events again.',
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
        operationId: 'listWebhookDeliveries',
        tags,
        summary: 'List the deliveries of an endpoint, newest first',
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
        operationId: 'replayWebhookDeliveries',
        tags,
        summary: 'Replay failed deliveries',
        description:
          'Sluice tries deliveries in state `dead` again. They arrive after events that were delivered in the meantime.',
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
