import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

/**
 * Transactions of settlements, with a blockhash or a durable nonce. `signers` and `signatures` have the order of the
 * message's account keys: the first signer pays the fee, and the first signature identifies the transaction.
 */
export const attempts = migrationOf([
  sql`create table attempt (
    settlement_id text not null references settlement (id),
    n integer not null check (n > 0),
    kind text not null,
    signers text[] not null check (cardinality(signers) > 0),
    message_hash text not null constraint attempt_message_unique unique check (message_hash ~ '^[0-9a-f]{64}$'),
    message text not null,
    blockhash text not null, -- in the message: a recent blockhash, or the nonce of its nonce account
    blockhash_slot bigint not null, -- slot at which it was read; if adopted, slot of the block adopted_from
    blockhash_height bigint, -- null for a durable nonce, which does not expire
    last_valid_block_height bigint,
    adopted_from text, -- hash of a finalized block before which an adopted message cannot have landed
    nonce_account text references nonce_account (address),
    bare_advance boolean not null default false, -- true if it only advances the nonce that another attempt uses
    compute_unit_limit integer not null,
    compute_unit_price_micro_lamports numeric(20, 0) not null,
    fee_lamports numeric(20, 0) not null,
    rent_lamports numeric(20, 0) not null,
    creates_account boolean not null default false, -- true if it creates the receiver's account, with or without rent
    state text not null check (state in ('prepared', 'signed', 'landed', 'failed', 'dead')),
    signatures text[] not null,
    signature text generated always as (signatures[1]) stored constraint attempt_signature_unique unique,
    slot bigint,
    error text,
    proof jsonb,
    epoch integer not null default 0, -- epoch of the database at the insert: see EPOCH
    created_at timestamptz not null default now(),
    ended_at timestamptz,
    primary key (settlement_id, n),
    check (cardinality(signatures) = cardinality(signers)),
    check (state <> 'prepared' or array_position(signatures, null) is not null),
    check (state <> 'signed' or array_position(signatures, null) is null),
    check (state not in ('landed', 'failed') or slot is not null),
    check (state <> 'dead' or proof is not null),
    constraint attempt_lifetime check ((nonce_account is null) = (blockhash_height is not null)
      and (nonce_account is null) = (last_valid_block_height is not null)),
    check (nonce_account is not null or not bare_advance),
    check (nonce_account is null or adopted_from is null)
  )`,
  sql`create unique index attempt_one_live on attempt (settlement_id) where state in ('prepared', 'signed')`,
  // A bare advance uses the same nonce as the attempt that it invalidates.
  sql`create unique index attempt_nonce_once on attempt (nonce_account, blockhash) where not bare_advance`,
  sql`create unique index attempt_one_live_nonce on attempt (nonce_account)
    where state in ('prepared', 'signed') and not bare_advance`,
  sql`create index attempt_ended on attempt (kind, created_at) where state in ('landed', 'failed', 'dead')`,
  // Sums the fees of failed attempts, whose settlements can continue.
  sql`create index attempt_failed on attempt ((signers[1]), slot) include (fee_lamports) where state = 'failed'`,
  sql`create index attempt_by_fee_payer on attempt ((signers[1]), blockhash_slot)`,
  sql`create index attempt_prepared on attempt (kind, last_valid_block_height) where state = 'prepared'`,
  sql`create index attempt_signed on attempt (kind, created_at) where signature is not null and state <> 'prepared'`,
]);
