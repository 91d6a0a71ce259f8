import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/** Indexes and sums for ten million rows. Each changes one table that older processes use: see `MIGRATIONS`. */

export const waitingDeliveries = inOrder([
  sql`create index webhook_delivery_waiting on webhook_delivery (endpoint, sequence) where state = 'waiting'`,
  sql`create index webhook_delivery_tried on webhook_delivery (endpoint, handed_at desc nulls last)
    where state = 'waiting' and attempts > 0`,
  sql`create index webhook_delivery_undelivered on webhook_delivery (sequence) where state <> 'delivered'`,
  sql`create index webhook_delivery_dead_at on webhook_delivery (endpoint, settled_at desc nulls last) where state = 'dead'`,
]);

export const oldEvents = inOrder([sql`create index webhook_event_by_age on webhook_event (created_at)`]);

export const paymentsByState = inOrder([
  sql`drop index payment_by_state`,
  sql`create index payment_by_state on payment (state, (-position))`,
]);

export const depositsByFilter = inOrder([
  sql`drop index deposit_by_asset`,
  sql`drop index deposit_by_state`,
  sql`create index deposit_by_asset on deposit (asset, (-id))`,
  sql`create index deposit_by_state on deposit (state, (-id))`,
]);

export const openAlerts = inOrder([sql`create index alert_open on alert (position) where closed_at is null`]);

export const hotWallets = inOrder([
  sql`create index watched_wallet_hot on watched_wallet (address) where kind = 'hot'`,
]);
