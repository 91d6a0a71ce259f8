import type { DeliveryState, WebhookEventType, WebhookTopic } from '../domain/webhook.ts';
import { pathPart, queryOf, type Transport } from './transport.ts';
import type { CallOptions } from './waiting.ts';

export type { DeliveryState, WebhookEventType, WebhookTopic };

/** An endpoint that is told of events. Times are ISO-8601. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookTopic[];
  /** Why the endpoint is disabled; null if it is enabled. */
  readonly disabledBecause: string | null;
  /** Until then the secret before the newest signs, too; null where only the newest was ever given, or kept. */
  readonly previousSecretUntil: string | null;
  readonly createdAt: string;
}

/** `secret` is shown this once; null where nothing new was made. */
export interface WebhookWithSecret extends Webhook {
  readonly secret: string | null;
}

/** An endpoint, and what it has not heard yet. */
export interface WebhookStanding extends Webhook {
  /** Events that wait for it. */
  readonly waiting: number;
  /** Number of deliveries in state `dead`. */
  readonly dead: number;
  /** What the newest failed try came to of an event that waits or is dead; null where none has failed. */
  readonly lastError: string | null;
}

/** One event on its way to one endpoint. */
export interface WebhookDelivery {
  /** Id of the event, the `webhook-id` of each try. */
  readonly event: string;
  readonly type: WebhookEventType;
  /** What it happened to, as `withdrawal/<id>`. */
  readonly entity: string;
  readonly state: DeliveryState;
  /** Number of tries. */
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: string;
  readonly settledAt: string | null;
}

/** One page of deliveries, newest first. */
export interface WebhookDeliveryPage {
  readonly deliveries: readonly WebhookDelivery[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly nextCursor: string | null;
}

/** The webhooks of a Sluice: `sluice.webhooks`. Each call throws SluiceError, `NotFound` (404) for an id that is not there. */
export class WebhookCalls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Adds an endpoint, or gives the one of that URL these events; only a new one comes with its secret. */
  put(url: string, events: readonly WebhookTopic[], options?: CallOptions): Promise<WebhookWithSecret> {
    return this.#transport.call({ method: 'POST', path: '/v1/webhooks', body: { url, events } }, options);
  }

  async list(options?: CallOptions): Promise<readonly WebhookStanding[]> {
    const answer = await this.#transport.call<{ webhooks: readonly WebhookStanding[] }>(
      {
        method: 'GET',
        path: '/v1/webhooks',
      },
      options,
    );
    return answer.webhooks;
  }

  /** Deletes it with all that it was not told; answers what it was. */
  async remove(id: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call({ method: 'DELETE', path: pathOf(id) }, options);
  }

  /** A new secret; the one before signs along for `keepPreviousHours` (0-168). @default 24 */
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

  /** Tells it again, from now on. */
  async enable(id: string, options?: CallOptions): Promise<Webhook> {
    return this.#transport.call({ method: 'POST', path: `${pathOf(id)}/enable` }, options);
  }

  /** One page, newest first; dead letters are those in state `dead`. */
  async deliveries(
    id: string,
    filter: { readonly state?: DeliveryState; readonly cursor?: string; readonly limit?: number } = {},
    options?: CallOptions,
  ): Promise<WebhookDeliveryPage> {
    const path = `${pathOf(id)}/deliveries${queryOf(filter)}`;
    return this.#transport.call({ method: 'GET', path }, options);
  }

  /** Has its dead letters tried again, or one event of them. */
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
