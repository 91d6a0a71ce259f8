import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

export const cluster = migrationOf([
  sql`create table cluster (
    one boolean primary key default true check (one),
    genesis_hash text not null,
    bound_at timestamptz not null default now()
  )`,
  sql`create table continuity (
    one boolean primary key default true check (one),
    identity text not null,
    seen_at timestamptz not null,
    quarantine_height bigint,
    quarantine_identity text,
    nonces_settled boolean not null default false,
    epoch integer not null default 0, -- epoch: the number of gaps that have ended
    withheld_up_to bigint not null default 0 -- up to this position, a restore may have lost the assignments of addresses
  )`,
]);
