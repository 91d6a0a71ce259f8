import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/** The transactions of withdrawals. The lifetime of an attempt is a blockhash or a durable nonce. */
export const attempts = inOrder([
  sql`create table attempt (
    withdrawal_id text not null references withdrawal (id),
    n integer not null check (n > 0),
    wallet text not null,
    message_hash text not null constraint attempt_message_unique unique check (message_hash ~ '^[0-9a-f]{64}$'),
    message text not null,
    blockhash text not null,
    blockhash_slot bigint not null,
    blockhash_height bigint,
    last_valid_block_height bigint,
    nonce_account text references nonce_account (address),
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
    generation integer not null default 0,
    created_at timestamptz not null default now(),
    primary key (withdrawal_id, n),
    check ((signature is null) = (raw is null)),
    check (state <> 'prepared' or signature is null),
    check (state <> 'signed' or signature is not null),
    check (state not in ('landed', 'failed') or slot is not null),
    check (state <> 'dead' or proof is not null),
    constraint attempt_lifetime check ((nonce_account is null) = (blockhash_height is not null)
      and (nonce_account is null) = (last_valid_block_height is not null)),
    constraint attempt_nonce_once unique (nonce_account, blockhash)
  )`,
  sql`create unique index attempt_one_live on attempt (withdrawal_id) where state in ('prepared', 'signed')`,
  sql`create unique index attempt_one_live_nonce on attempt (nonce_account) where state in ('prepared', 'signed')`,
  sql`create index attempt_ended on attempt (created_at) where state in ('landed', 'failed', 'dead')`,
]);
