import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

export const deposits = migrationOf([
  sql`create table asset (
    asset text primary key,
    program text,
    decimals integer not null check (decimals between 0 and 255),
    extensions jsonb not null,
    freeze_authority text,
    permanent_delegate text,
    minimum_deposit numeric(20, 0) not null check (minimum_deposit >= 0),
    deposits_on boolean not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((asset = 'SOL') = (program is null))
  )`,
  sql`create table deposit (
    id bigint generated always as identity primary key,
    signature text not null,
    slot bigint not null,
    blockhash text, -- null if only the transaction was available: its block is in a closed gap
    time bigint,
    account text not null,
    wallet text not null references watched_wallet (address),
    asset text not null,
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    state text not null check (state in ('pending', 'final', 'dropped', 'not_credited')),
    reason text,
    finalized_at timestamptz, -- null while the deposit is only announced
    confirmed_by text, -- names of the nodes that confirmed the deposit; a name never contains an API key
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint deposit_key unique (signature, slot, account, asset),
    check (state not in ('final', 'not_credited') or finalized_at is not null),
    check (blockhash is not null or finalized_at is not null),
    constraint deposit_reason check (
      case state when 'not_credited' then reason is not null when 'pending' then true else reason is null end
    ),
    constraint deposit_confirmed check (
      case state when 'final' then confirmed_by is not null when 'not_credited' then true else confirmed_by is null end
    )
  )`,
  sql`create index deposit_by_wallet on deposit (wallet, id)`,
  sql`create index deposit_by_public_id on deposit (substring(sha256(decode(replace(signature || '/' || slot::text
    || '/' || account || '/' || asset, '\\', '\\\\'), 'escape')) from 1 for 16))`,
  sql`create index deposit_by_asset on deposit (asset, (-id))`,
  sql`create index deposit_by_state on deposit (state, (-id))`,
  sql`create index deposit_announced on deposit (slot) where state = 'pending' and finalized_at is null`,
  sql`create index deposit_unconfirmed on deposit ((reason is not null), id)
    where state = 'pending' and finalized_at is not null`,
  sql`create index deposit_unconfirmed_credit on deposit (id)
    where state = 'pending' and finalized_at is not null and reason is null`,
  sql`create table deposit_rejection (
    position bigint generated always as identity primary key,
    deposit_id bigint not null references deposit (id),
    actor text not null,
    reason text not null,
    denied_by text not null, -- names of the nodes that denied the deposit
    at timestamptz not null default now()
  )`,
  sql`create index deposit_rejection_of on deposit_rejection (deposit_id)`,
  sql`create table deposit_feed (
    one boolean primary key default true check (one),
    last_sequence bigint not null,
    renumbered_for text -- id of the restore after which the sequence last skipped numbers
  )`,
  sql`insert into deposit_feed (last_sequence) values (0)`,
  sql`create table deposit_event (
    sequence bigint primary key,
    deposit_id bigint not null references deposit (id),
    kind text not null check (kind in ('pending', 'final', 'dropped', 'not_credited')),
    amount numeric(20, 0) not null,
    reason text,
    at timestamptz not null default clock_timestamp()
  )`,
  sql`create index deposit_event_by_deposit on deposit_event (deposit_id, sequence)`,
]);
