import { type Kysely, sql } from 'kysely';

/** Withdrawals, their attempts, the money reserved for them, and the keys of the API. */
export const withdrawals = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`create table withdrawal (
    id text primary key,
    position bigint generated always as identity unique,
    asset text not null,
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    destination text not null,
    accept_empty_wallet boolean not null,
    memo text,
    fingerprint text not null,
    status text not null check (status in ('requested', 'awaiting_confirmation', 'awaiting_funds', 'preparing',
      'sending', 'confirmed', 'finalized', 'rejected', 'cancelled', 'failed', 'held')),
    reason_code text,
    reason_message text,
    confirmed_by_customer boolean not null default false,
    amount_received numeric(20, 0),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((reason_code is null) = (reason_message is null))
  )`,
  sql`create index withdrawal_by_status on withdrawal (status, position)`,
  sql`create index withdrawal_by_destination on withdrawal (destination, position)`,
  sql`create table attempt (
    withdrawal_id text not null references withdrawal (id),
    n integer not null check (n > 0),
    wallet text not null,
    message_hash text not null constraint attempt_message_unique unique check (message_hash ~ '^[0-9a-f]{64}$'),
    message text not null,
    blockhash text not null,
    blockhash_slot bigint not null,
    blockhash_height bigint not null,
    last_valid_block_height bigint not null,
    compute_unit_limit integer not null,
    compute_unit_price_micro_lamports numeric(20, 0) not null,
    fee_lamports numeric(20, 0) not null,
    rent_lamports numeric(20, 0) not null,
    state text not null check (state in ('prepared', 'signed', 'landed', 'failed', 'dead')),
    signature text constraint attempt_signature_unique unique,
    raw text,
    slot bigint,
    error text,
    proof jsonb,
    created_at timestamptz not null default now(),
    primary key (withdrawal_id, n),
    check ((signature is null) = (raw is null)),
    check (state <> 'prepared' or signature is null),
    check (state <> 'signed' or signature is not null),
    check (state not in ('landed', 'failed') or slot is not null),
    check (state <> 'dead' or proof is not null)
  )`,
  sql`create unique index attempt_one_live on attempt (withdrawal_id) where state in ('prepared', 'signed')`,
  sql`create table reservation (
    withdrawal_id text not null references withdrawal (id),
    wallet text not null,
    asset text not null,
    amount numeric(20, 0) not null check (amount >= 0),
    state text not null check (state in ('open', 'landed', 'released')),
    slot bigint,
    primary key (withdrawal_id, wallet, asset),
    check ((state = 'landed') = (slot is not null))
  )`,
  sql`create index reservation_open on reservation (wallet, asset) include (amount) where state = 'open'`,
  sql`create index reservation_landed on reservation (wallet, slot) where state = 'landed'`,
  sql`create table api_key (
    name text primary key,
    hash text not null unique check (hash ~ '^[0-9a-f]{64}$'),
    created_at timestamptz not null default now()
  )`,
];
