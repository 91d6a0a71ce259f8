import type { WebhookTopic } from '../domain/webhook.ts';
import type {
  Queries,
  Webhook,
  WebhookDeliveryPage,
  Webhooks,
  WebhookWithBacklog,
  WebhookWithSecret,
} from './api.ts';
import { Calls } from './calls.ts';
import { pathPart, queryOf } from './transport.ts';
import type { CallOptions } from './waiting.ts';

/** Webhook endpoints: `sluice.webhooks`. Each call throws SluiceError; `NotFound` (404) for an unknown id. */
export class WebhookCalls extends Calls {
  /** Creates an endpoint, or sets the events of an existing one. Only a new endpoint has a secret in the result. */
  put(url: string, events: readonly WebhookTopic[], options?: CallOptions): Promise<WebhookWithSecret> {
    return this.send('POST', '/v1/webhooks', { url, events }, options);
  }

  async list(options?: CallOptions): Promise<readonly WebhookWithBacklog[]> {
    return (await this.read<Webhooks>('/v1/webhooks', options)).webhooks;
  }

  /** Deletes an endpoint and its undelivered events. Returns the deleted endpoint. */
  async remove(id: string, options?: CallOptions): Promise<Webhook> {
    return this.send('DELETE', pathOf(id), undefined, options);
  }

  /** Creates a new secret. The previous secret also signs for `keepPreviousHours` (0 to 168). */
  async rotate(id: string, keepPreviousHours = 24, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.send('POST', `${pathOf(id)}/rotate`, { keepPreviousHours }, options);
  }

  /** Resumes deliveries to a disabled endpoint. */
  async enable(id: string, options?: CallOptions): Promise<Webhook> {
    return this.send('POST', `${pathOf(id)}/enable`, undefined, options);
  }

  /** One page of the deliveries to an endpoint, newest first. */
  async deliveries(
    id: string,
    query: Queries['listWebhookDeliveries'] = {},
    options?: CallOptions,
  ): Promise<WebhookDeliveryPage> {
    const path = `${pathOf(id)}/deliveries${queryOf(query)}`;
    return this.read(path, options);
  }

  /** Retries all deliveries of an endpoint in state `dead`, or only that of `eventId`. */
  async replay(id: string, eventId?: string, options?: CallOptions): Promise<{ readonly replayed: number }> {
    return this.send(
      'POST',
      `${pathOf(id)}/replay`,
      eventId === undefined ? {} : { event: eventId },
      options,
    );
  }
}

function pathOf(id: string): string {
  return `/v1/webhooks/${pathPart(id)}`;
}
