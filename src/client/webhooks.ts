import type { DeliveryState, WebhookEventType, WebhookTopic } from '../domain/webhook.ts';
import { pathPart, queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { DeliveryState, WebhookEventType, WebhookTopic };

/** An endpoint that receives events. Times are ISO-8601. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookTopic[];
  /** Why the endpoint is disabled; null if it is enabled. */
  readonly disabledBecause: string | null;
  /** Until then requests are also signed with the previous secret; null if there is none. */
  readonly previousSecretUntil: string | null;
  readonly createdAt: string;
}

/** `secret` is returned only once; null if no new secret was created. */
export interface WebhookWithSecret extends Webhook {
  readonly secret: string | null;
}

/** An endpoint and its undelivered events. */
export interface WebhookWithBacklog extends Webhook {
  /** Number of events not delivered yet. */
  readonly waiting: number;
  readonly dead: number;
  /** Error of the newest failed try among waiting and dead events; null if none failed. */
  readonly lastError: string | null;
}

/** The delivery of one event to one endpoint. */
export interface WebhookDelivery {
  /** Event id: the `webhook-id` of each try. */
  readonly event: string;
  readonly type: WebhookEventType;
  /** Subject of the event, such as `withdrawal/<id>`. */
  readonly entity: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: string;
  readonly settledAt: string | null;
}

export interface WebhookDeliveryPage {
  readonly deliveries: readonly WebhookDelivery[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly nextCursor: string | null;
}

/** Webhook endpoints: `sluice.webhooks`. Each call throws SluiceError; `NotFound` (404) for an unknown id. */
export class WebhookCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an endpoint, or sets the events of an existing one. Only a new endpoint has a secret in the result. */
  put(url: string, events: readonly WebhookTopic[], options?: CallOptions): Promise<WebhookWithSecret> {
    return this.#transport.call({ method: 'POST', path: '/v1/webhooks', body: { url, events } }, options);
  }

  async list(options?: CallOptions): Promise<readonly WebhookWithBacklog[]> {
    const answer = await this.#transport.call<{ webhooks: readonly WebhookWithBacklog[] }>(
      {
        method: 'GET',
        path: '/v1/webhooks',
      },
      options,
    );
    return answer.webhooks;
  }

  /** Deletes an endpoint and its undelivered events. Returns the deleted endpoint. */
  async remove(id: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call({ method: 'DELETE', path: pathOf(id) }, options);
  }

  /** Creates a new secret. The previous one also signs for `keepPreviousHours` (0-168). @default 24 */
  async rotate(id: string, keepPreviousHours = 24, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.#transport.call(
      {
        method: 'POST',
        path: `${pathOf(id)}/rotate`,
        body: { keepPreviousHours },
      },
      options,
    );
  }

  /** Resumes deliveries to a disabled endpoint. */
  async enable(id: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call({ method: 'POST', path: `${pathOf(id)}/enable` }, options);
  }

  /** One page, newest first. Dead letters have state `dead`. */
  async deliveries(
    id: string,
    filter: { readonly state?: DeliveryState; readonly cursor?: string; readonly limit?: number } = {},
    options?: CallOptions,
  ): Promise<WebhookDeliveryPage> {
    const path = `${pathOf(id)}/deliveries${queryOf(filter)}`;
    return this.#transport.call({ method: 'GET', path }, options);
  }

  /** Retries all dead letters of an endpoint, or one event. */
  async replay(id: string, event?: string, options?: CallOptions): Promise<{ readonly replayed: number }> {
    return this.#transport.call(
      {
        method: 'POST',
        path: `${pathOf(id)}/replay`,
        body: event === undefined ? {} : { event },
      },
      options,
    );
  }
}

function pathOf(id: string): string {
  return `/v1/webhooks/${pathPart(id)}`;
}
