import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

export const webhooks = migrationOf([
  sql`create table webhook_endpoint (
    id text primary key,
    position bigint generated always as identity unique,
    url text not null unique,
    events text[] not null check (cardinality(events) > 0),
    secret text not null, -- encrypted, like previous_secret
    previous_secret text,
    previous_secret_until timestamptz,
    disabled_at timestamptz,
    disabled_because text,
    created_at timestamptz not null default now(),
    check ((previous_secret is null) = (previous_secret_until is null)),
    check ((disabled_at is null) = (disabled_because is null))
  )`,
  sql`create table webhook_event (
    sequence bigint generated always as identity primary key,
    id text not null unique,
    type text not null,
    entity text not null,
    body text not null, -- the exact text that is signed and sent
    created_at timestamptz not null default now()
  )`,
  sql`create index webhook_event_by_age on webhook_event (created_at)`,
  sql`create table webhook_delivery (
    endpoint text not null references webhook_endpoint (id) on delete cascade,
    sequence bigint not null references webhook_event (sequence),
    entity text not null,
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead')),
    attempts integer not null default 0,
    last_error text,
    handed_at timestamptz, -- when the workflow last confirmed that it knows the event
    settled_at timestamptz,
    primary key (endpoint, sequence),
    check ((state = 'waiting') = (settled_at is null))
  )`,
  sql`create index webhook_delivery_next on webhook_delivery (endpoint, entity, sequence) where state = 'waiting'`,
  sql`create index webhook_delivery_unhanded on webhook_delivery (sequence) where state = 'waiting' and handed_at is null`,
  sql`create index webhook_delivery_handed on webhook_delivery (handed_at) where state = 'waiting'`,
  sql`create index webhook_delivery_dead on webhook_delivery (endpoint, sequence) where state = 'dead'`,
  sql`create index webhook_delivery_of_event on webhook_delivery (sequence)`,
  sql`create index webhook_delivery_waiting on webhook_delivery (endpoint, sequence) where state = 'waiting'`,
  sql`create index webhook_delivery_tried on webhook_delivery (endpoint, handed_at desc nulls last)
    where state = 'waiting' and attempts > 0`,
  sql`create index webhook_delivery_undelivered on webhook_delivery (sequence) where state <> 'delivered'`,
  sql`create index webhook_delivery_dead_at on webhook_delivery (endpoint, settled_at desc nulls last) where state = 'dead'`,
]);
