import type { Generated } from 'kysely';
import type { DeliveryState, WebhookEventType, WebhookTopic } from '../../domain/webhook.ts';

interface WebhookEndpointTable {
  id: string;
  position: Generated<bigint>;
  url: string;
  events: readonly WebhookTopic[];
  /** As the seal gives it. */
  secret: string;
  previousSecret: string | null;
  previousSecretUntil: Date | null;
  disabledAt: Date | null;
  disabledBecause: string | null;
  createdAt: Generated<Date>;
}

interface WebhookEventTable {
  sequence: Generated<bigint>;
  id: string;
  type: WebhookEventType;
  entity: string;
  /** JSON, the very bytes that are signed. */
  body: string;
  createdAt: Generated<Date>;
}

interface WebhookDeliveryTable {
  endpoint: string;
  sequence: bigint;
  entity: string;
  state: Generated<DeliveryState>;
  attempts: Generated<number>;
  lastError: string | null;
  /** When its workflow was last known to have it; null where nobody told one. */
  handedAt: Date | null;
  settledAt: Date | null;
}

/** Endpoints, the outbox, and how far each endpoint has heard it. */
export interface WebhookTables {
  webhookEndpoint: WebhookEndpointTable;
  webhookEvent: WebhookEventTable;
  webhookDelivery: WebhookDeliveryTable;
}
