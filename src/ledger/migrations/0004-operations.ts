import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

export const operations = migrationOf([
  sql`create table api_key (
    name text primary key,
    hash text not null unique check (hash ~ '^[0-9a-f]{64}$'),
    kind text not null default 'api' check (kind in ('api', 'facilitator')),
    created_at timestamptz not null default now(),
    mints text[], -- null: any
    pay_tos text[], -- null: any
    lamports_per_hour numeric(20, 0), -- null: the configured budget of a caller
    check (kind = 'facilitator' or (mints is null and pay_tos is null and lamports_per_hour is null))
  )`,
  sql`create table alert (
    position bigint generated always as identity primary key,
    kind text not null,
    subject text not null,
    message text not null,
    details jsonb not null default '{}',
    raised_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    count integer not null default 1 check (count > 0),
    closed_at timestamptz
  )`,
  sql`create unique index alert_one_open on alert (kind, subject) where closed_at is null`,
  sql`create index alert_open on alert (position) where closed_at is null`,
  sql`create index alert_by_subject on alert (subject, kind)`,
  sql`create table pause (
    position bigint generated always as identity primary key,
    cause text not null,
    scope text not null default 'all' check (scope = 'all' or scope ~ '^(kind|wallet)/.'),
    reason text not null,
    actor text not null,
    since timestamptz not null default now(),
    ended_at timestamptz,
    ended_by text,
    ended_reason text,
    check ((ended_at is null) = (ended_by is null) and (ended_at is null) = (ended_reason is null))
  )`,
  sql`create unique index pause_one_open on pause (cause, scope) where ended_at is null`,
]);
