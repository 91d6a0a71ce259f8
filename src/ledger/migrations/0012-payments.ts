import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

/**
 * x402 payments. The id is that of the settlement inserted in the same transaction; an `unmatched` payment can have no
 * settlement, and a replaced one has none. `request` and `answer` are encrypted; `request` is deleted when the payment's obligation ends.
 */
export const payments = migrationOf([
  sql`create table payment (
    id text primary key,
    position bigint generated always as identity unique,
    state text not null check (state in ('settling', 'owed', 'served', 'refundable', 'unmatched', 'void')),
    reason text,
    seller text not null check (seller in ('gateway', 'facilitator')),
    dialect text not null check (dialect in ('v2', 'v1', 'example', 'submitted')),
    payer text not null, -- owner of the funds
    source_account text, -- token account that pays; null if the transaction has no token transfer
    fee_payer text not null,
    fee_lamports numeric(20, 0) not null, -- maximum amount that the transaction can cost the fee payer
    compute_unit_limit integer not null,
    compute_unit_price_micro_lamports numeric(20, 0) not null,
    terms jsonb not null,
    wire text, -- base64 of the transaction as the buyer sent it; deleted with request and answer after the retention
    signature text, -- null unless the buyer has provided the transaction's first signature
    accepted_slot bigint not null, -- slot at which a node accepted its blockhash, or slot of the block that contains it
    received numeric(20, 0), -- base units received by the landed transaction
    route text not null,
    request_hash text not null check (request_hash ~ '^[0-9a-f]{64}$'),
    request text,
    answer text,
    answer_status integer,
    caller jsonb not null,
    facilitator_key text, -- name of the facilitator's caller; empty if it needs no key
    claim text, -- hash of the Idempotency-Key of the newest claim of the facilitator's success
    lease_holder text,
    lease_until timestamptz,
    asked_at timestamptz, -- when the upstream was first called
    paid_at timestamptz,
    settled_at timestamptz, -- when its transaction was final
    failed_at timestamptz, -- when the failure on chain of its transaction was final
    served_at timestamptz, -- of an answer that is not stored: when its last delivery ended
    answer_repeats integer not null default 0, -- further calls of the upstream for an answer that is not stored
    replaced_by text references payment, -- owed payment that was served in place of settling this one, which is void
    created_at timestamptz not null default now(),
    check ((lease_holder is null) = (lease_until is null)),
    check (replaced_by is null or state = 'void')
  )`,
  sql`create index payment_owed on payment (payer, request_hash, position) where state = 'owed'`,
  sql`create index payment_by_signature on payment (signature) where signature is not null`,
  sql`create index payment_by_state on payment (state, created_at, position)`,
  sql`create index payment_by_time on payment (created_at, position)`,
  sql`create index payment_by_asset on payment ((terms ->> 'asset'), created_at, position)`,
  sql`create index payment_by_seller on payment (seller, created_at, position)`,
  sql`create index payment_by_fee_payer on payment (fee_payer, created_at)`,
  sql`create index payment_by_payer on payment (payer, created_at, position)`,
  sql`create index payment_open_by_source on payment (source_account) where state = 'settling'`,
  sql`create index payment_failed on payment (payer, failed_at) where failed_at is not null`,
  sql`create index payment_paid on payment (payer, paid_at) where paid_at is not null`,
  sql`create index payment_by_facilitator_key on payment (facilitator_key, created_at)
    where facilitator_key is not null`,
  sql`create index payment_with_data on payment (created_at)
    where wire is not null and state in ('served', 'refundable', 'unmatched', 'void')`,
  sql`create index payment_by_route on payment (route, created_at, position)`,
  sql`create unique index payment_identifier_once on payment (payer, route, (caller ->> 'identifier'))
    where caller ->> 'identifier' is not null and (state <> 'void' or replaced_by is not null)`,
  sql`create table offer (
    route text not null,
    hash text not null,
    terms jsonb not null,
    last_offered_at timestamptz not null default now(),
    primary key (route, hash)
  )`,
  sql`create table access_pass (
    payment_id text primary key references payment,
    payer text not null,
    route text not null,
    path text not null, -- path of the paid request, without its query
    issued_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  sql`create index access_pass_by_payer on access_pass (payer, route, path, expires_at)`,
  sql`create table pass_revocation (
    payment_id text primary key references payment,
    actor text not null,
    reason text not null,
    revoked_at timestamptz not null default now()
  )`,
  sql`create function iso_time(at timestamptz) returns text language sql stable
    return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  // Triggers write the webhook events of payments, so that no statement on `payment` can omit one. The fields of `data`
  // are those of the API. The id of an event depends only on type and payment: where a fork removes a transaction that
  // lands again, each event is written once.
  sql`create function write_payment_event(event_type text, changed payment) returns void language plpgsql as $$
    begin
      with subscriber as materialized (
        select id from webhook_endpoint
        where disabled_at is null and events && array[event_type, 'payment.*', '*']
        for key share
      ), event as (
        insert into webhook_event (id, type, entity, body)
        select 'evt_' || left(encode(sha256(convert_to(event_type || '/' || changed.id, 'UTF8')), 'hex'), 32)::uuid,
          event_type, 'payment/' || changed.id,
          json_build_object('type', event_type, 'timestamp', iso_time(now()), 'data', json_build_object(
            'id', changed.id, 'state', changed.state, 'reason', changed.reason,
            'signature', coalesce((select signature from attempt where settlement_id = changed.id
              order by n desc limit 1), changed.signature),
            'seller', changed.seller, 'dialect', changed.dialect, 'payer', changed.payer,
            'network', changed.terms -> 'network', 'asset', changed.terms -> 'asset',
            'decimals', changed.terms -> 'decimals', 'amount', changed.terms -> 'amount',
            'received', changed.received::text, 'payTo', changed.terms -> 'payTo', 'route', changed.route,
            'answerStatus', changed.answer_status, 'paidAt', iso_time(changed.paid_at),
            'settledAt', iso_time(changed.settled_at), 'servedAt', iso_time(changed.served_at),
            'createdAt', iso_time(changed.created_at)))::text
        where exists (select from subscriber)
        on conflict (id) do nothing
        returning sequence
      )
      insert into webhook_delivery (endpoint, sequence, entity)
      select subscriber.id, event.sequence, 'payment/' || changed.id from event cross join subscriber;
    end $$`,
  sql`create function publish_payment() returns trigger language plpgsql as $$
    begin
      if new.state in ('owed', 'served', 'refundable', 'unmatched') and new.state is distinct from old.state then
        perform write_payment_event('payment.' || new.state, new);
      end if;
      if new.settled_at is not null and (old.settled_at is null or old.state = 'settling')
        and new.state in ('owed', 'served', 'refundable')
        and coalesce(new.received >= (new.terms ->> 'amount')::numeric, true) then
        perform write_payment_event('payment.settled', new);
      end if;
      return null;
    end $$`,
  sql`create trigger payment_inserted after insert on payment for each row when (new.state = 'unmatched')
    execute function publish_payment()`,
  sql`create trigger payment_updated after update of state, settled_at on payment for each row
    when (new.state is distinct from old.state or new.settled_at is distinct from old.settled_at)
    execute function publish_payment()`,
  sql`create table catalog_entry (
    facilitator_key text not null,
    resource text not null,
    method text not null,
    item jsonb not null,
    updated_at timestamptz not null default now(),
    primary key (facilitator_key, resource, method)
  )`,
  sql`create table routes_version (
    position bigint primary key check (position > 0),
    source text not null check (source in ('file', 'api')),
    content text not null, -- JSON of a routes file, encrypted
    hash text not null check (hash ~ '^[0-9a-f]{64}$'), -- SHA-256 of the content
    actor text not null,
    reason text not null,
    created_at timestamptz not null default now()
  )`,
]);
