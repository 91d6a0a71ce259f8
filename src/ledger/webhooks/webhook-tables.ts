import type { Generated } from 'kysely';
import type { DeliveryState, WebhookEventType, WebhookTopic } from '../../domain/webhook.ts';

interface WebhookEndpointTable {
  id: string;
  position: Generated<bigint>;
  url: string;
  events: readonly WebhookTopic[];
  /** Sealed. */
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
  /** JSON, exactly the bytes that are signed. */
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
  /** When its workflow was last known to have it; null if no workflow was signalled. */
  handedAt: Date | null;
  settledAt: Date | null;
}

export interface WebhookTables {
  webhookEndpoint: WebhookEndpointTable;
  webhookEvent: WebhookEventTable;
  webhookDelivery: WebhookDeliveryTable;
}
