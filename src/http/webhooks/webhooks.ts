import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { EMPTY_BACKLOG } from '../../ledger/webhooks/backlogs.ts';
import type { IssuedSecret } from '../../ledger/webhooks/webhooks.ts';
import { faultOfUrl } from '../../webhooks/public-address.ts';
import { route } from '../route.ts';
import { idParam } from '../schemas.ts';
import {
  DeliveriesBody,
  DeliveriesQuery,
  NewWebhookBody,
  ReplayBody,
  ReplayedBody,
  RotateBody,
  WebhookBody,
  WebhooksBody,
  WebhookWithSecretBody,
} from './webhook-schemas.ts';

export interface WebhookRouteDeps {
  readonly ledger: Ledger;
  /** Accepts private addresses and plain http. @default false */
  readonly allowPrivateWebhooks?: boolean;
}

const tags = ['webhooks'];
const params = z.object({ id: idParam });

export function webhookRoutes(app: FastifyInstance, deps: WebhookRouteDeps): void {
  const { webhooks, deliveries } = deps.ledger;
  route(app, 'POST', '/v1/webhooks', {
    operationId: 'createWebhook',
    tags,
    summary: 'Create a webhook endpoint',
    description:
      'A URL has at most one endpoint: if the URL has one already, only its events are replaced. The secret of a new endpoint is returned only in this response.',
    body: NewWebhookBody,
    response: WebhookWithSecretBody,
    handler: async ({ body: { url, events } }) => {
      const fault = faultOfUrl(url, deps.allowPrivateWebhooks ?? false);
      if (fault !== null) throw new DomainError('InvalidRequest', `url: ${fault}`, { field: 'url' });
      return withSecret(await webhooks.put(new URL(url).href, events));
    },
  });
  route(app, 'GET', '/v1/webhooks', {
    operationId: 'listWebhooks',
    tags,
    summary: 'List webhook endpoints and their undelivered events',
    response: WebhooksBody,
    handler: async () => {
      const backlogs = await deliveries.backlogs();
      const rows = await webhooks.list();
      return { webhooks: rows.map((row) => ({ ...row, ...(backlogs.get(row.id) ?? EMPTY_BACKLOG) })) };
    },
  });
  endpointRoutes(app, deps.ledger);
  deliveryRoutes(app, deps.ledger);
}

function endpointRoutes(app: FastifyInstance, { webhooks }: Ledger): void {
  route(app, 'DELETE', '/v1/webhooks/:id', {
    operationId: 'deleteWebhook',
    tags,
    summary: 'Delete a webhook endpoint and its undelivered events',
    params,
    response: WebhookBody,
    handler: ({ params: { id } }) => webhooks.remove(id),
  });
  route(app, 'POST', '/v1/webhooks/:id/rotate', {
    operationId: 'rotateWebhookSecret',
    tags,
    summary: 'Rotate the signing secret of an endpoint',
    description:
      'For `keepPreviousHours`, each delivery has two signatures: one with the new secret and one with the previous secret. A second rotation within that time replaces only the new secret.',
    params,
    body: RotateBody,
    response: WebhookWithSecretBody,
    handler: async ({ params: { id }, body }) =>
      withSecret(await webhooks.rotate(id, body.keepPreviousHours)),
  });
  route(app, 'POST', '/v1/webhooks/:id/enable', {
    operationId: 'enableWebhook',
    tags,
    summary: 'Enable a disabled endpoint',
    description: 'The endpoint receives new events again.',
    params,
    response: WebhookBody,
    handler: ({ params: { id } }) => webhooks.enable(id),
  });
}

function deliveryRoutes(app: FastifyInstance, { webhooks, deliveries }: Ledger): void {
  route(app, 'GET', '/v1/webhooks/:id/deliveries', {
    operationId: 'listWebhookDeliveries',
    tags,
    summary: 'List the deliveries of an endpoint, newest first',
    params,
    querystring: DeliveriesQuery,
    response: DeliveriesBody,
    handler: async ({ params: { id }, query }) => {
      const { id: endpoint } = await webhooks.get(id);
      const { rows, nextCursor } = await deliveries.list({ endpoint, ...query });
      return { deliveries: rows.map((row) => ({ ...row, event: row.id })), nextCursor };
    },
  });
  route(app, 'POST', '/v1/webhooks/:id/replay', {
    operationId: 'replayWebhookDeliveries',
    tags,
    summary: 'Replay failed deliveries',
    description:
      'Sluice tries deliveries in state `dead` again. They arrive after events that were delivered in the meantime.',
    params,
    body: ReplayBody,
    response: ReplayedBody,
    handler: async ({ params: { id }, body }) => {
      const { id: endpoint } = await webhooks.get(id);
      return { replayed: await deliveries.replay(endpoint, body.event) };
    },
  });
}

const withSecret = ({ row, secret }: IssuedSecret) => ({ ...row, secret });
