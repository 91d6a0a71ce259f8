import { type Kysely, sql } from 'kysely';

/** What we watch, the addresses given to users, the blocks that were scanned, and what they brought. */
export const deposits = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`create table watch_version (
    one boolean primary key default true check (one),
    version bigint not null
  )`,
  sql`insert into watch_version (version) values (0)`,
  sql`create table watched_wallet (
    address text primary key check (address ~ '^[1-9A-HJ-NP-Za-km-z]{32,44}$'),
    kind text not null check (kind in ('deposit', 'hot')),
    version bigint not null,
    watched_after bigint
  )`,
  sql`create index watched_wallet_by_version on watched_wallet (version)`,
  sql`create table deposit_address (
    address text primary key references watched_wallet (address),
    position bigint generated always as identity unique,
    path text not null,
    state text not null check (state in ('auditing', 'free', 'assigned', 'used')),
    user_ref text constraint deposit_address_user_unique unique,
    since bigint,
    created_at timestamptz not null default now(),
    assigned_at timestamptz,
    check ((state = 'assigned') = (user_ref is not null)),
    check ((user_ref is null) = (assigned_at is null)),
    check (state <> 'auditing' or since is not null)
  )`,
  sql`create index deposit_address_free on deposit_address (position) where state = 'free'`,
  sql`create index deposit_address_auditing on deposit_address (position) where state = 'auditing'`,
  sql`create table asset (
    asset text primary key,
    program text,
    decimals integer not null check (decimals between 0 and 255),
    extensions jsonb not null,
    minimum_deposit numeric(20, 0) not null check (minimum_deposit >= 0),
    deposits_on boolean not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((asset = 'SOL') = (program is null))
  )`,
  sql`create table scan_cursor (
    one boolean primary key default true check (one),
    slot bigint not null,
    blockhash text not null,
    height bigint not null
  )`,
  sql`create table block (
    slot bigint primary key,
    blockhash text not null unique,
    parent_slot bigint not null check (parent_slot < slot),
    previous_blockhash text not null,
    height bigint not null unique,
    time bigint
  )`,
  sql`create table scan_gap (
    from_slot bigint not null,
    to_slot bigint not null check (to_slot >= from_slot),
    blockhash text not null,
    height bigint not null,
    state text not null check (state in ('open', 'filled', 'closed')),
    opened_at timestamptz not null default now(),
    ended_at timestamptz,
    who text,
    why text,
    audited_at timestamptz,
    primary key (from_slot, to_slot),
    check ((state = 'open') = (ended_at is null)),
    check ((state = 'closed') = (who is not null) and (who is null) = (why is null))
  )`,
  sql`create unique index scan_gap_one_open on scan_gap (state) where state = 'open'`,
  sql`create table staged_range (
    from_slot bigint primary key,
    to_slot bigint not null check (to_slot >= from_slot),
    parent_slot bigint not null,
    previous_blockhash text not null,
    blocks jsonb not null,
    staged_at timestamptz not null default now()
  )`,
  sql`create index staged_range_by_parent on staged_range (parent_slot, previous_blockhash)`,
  sql`create table deposit (
    id bigint generated always as identity primary key,
    signature text not null,
    slot bigint not null,
    blockhash text,
    time bigint,
    account text not null,
    wallet text not null references watched_wallet (address),
    asset text not null,
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    state text not null check (state in ('pending', 'final', 'dropped', 'not_credited')),
    reason text,
    finalized_at timestamptz,
    confirmed_by text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint deposit_key unique (signature, blockhash, account, asset),
    check ((state = 'not_credited') = (reason is not null)),
    check ((state = 'final') = (confirmed_by is not null)),
    check (state not in ('final', 'not_credited') or finalized_at is not null),
    check (state <> 'dropped' or finalized_at is null),
    check (blockhash is not null or finalized_at is not null)
  )`,
  sql`create unique index deposit_finalized_once on deposit (signature, slot, account, asset)
    where finalized_at is not null`,
  sql`create index deposit_by_wallet on deposit (wallet, id)`,
  sql`create index deposit_by_state on deposit (state, id)`,
  sql`create index deposit_unconfirmed on deposit (id) where state = 'pending' and finalized_at is not null`,
  sql`create index deposit_announced on deposit (slot) where state = 'pending' and finalized_at is null`,
  sql`create table deposit_feed (
    one boolean primary key default true check (one),
    last_sequence bigint not null
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
  sql`create table outflow (
    signature text not null,
    slot bigint not null,
    account text not null,
    asset text not null,
    wallet text not null references watched_wallet (address),
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    primary key (signature, slot, account, asset)
  )`,
  sql`create index outflow_by_wallet on outflow (wallet, slot)`,
  sql`create table spend (
    signature text not null,
    slot bigint not null,
    wallet text not null references watched_wallet (address),
    error text,
    primary key (signature, slot, wallet)
  )`,
  sql`create index spend_by_wallet on spend (wallet, slot)`,
];
