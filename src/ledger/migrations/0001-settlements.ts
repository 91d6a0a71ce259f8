import { sql } from 'kysely';
import { migrationOf } from '../migration-of.ts';

/**
 * Settlements, their reservations, and withdrawals, which are one kind of settlement. `settlement` has no unique key on
 * kind and subject: it would reject concurrent inserts that `on conflict (id)` must merge.
 */
export const settlements = migrationOf([
  sql`create table settlement (
    id text primary key,
    position bigint generated always as identity unique,
    kind text not null,
    subject_id text not null,
    status text not null check (status in ('requested', 'awaiting_confirmation', 'awaiting_funds', 'preparing',
      'sending', 'confirmed', 'finalized', 'rejected', 'cancelled', 'failed', 'dead', 'held')),
    reason_code text,
    reason_message text,
    was_confirmed boolean not null default false,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    check ((reason_code is null) = (reason_message is null))
  )`,
  sql`create index settlement_by_subject on settlement (subject_id)`,
  // For lists by kind, and by kind and status, newest first: see `negationOf` and `zeroMinus` in page.ts.
  sql`create index settlement_by_kind on settlement (kind, (-position))`,
  sql`create index settlement_by_kind_and_status on settlement (kind, status, (0 - position))`,
  sql`create index settlement_unpaid_end on settlement (kind, updated_at)
    where status in ('rejected', 'cancelled', 'failed', 'dead')`,
  sql`create index settlement_by_status on settlement (status, position)`,
  sql`create table withdrawal (
    id text primary key references settlement (id),
    asset text not null,
    amount numeric(20, 0) not null check (amount between 1 and 18446744073709551615),
    destination text not null,
    accept_empty_wallet boolean not null,
    memo text,
    fingerprint text not null,
    confirmed_by_customer boolean not null default false,
    amount_received numeric(20, 0),
    -- Position of its settlement, which the same statement inserts first, so that one index filters and orders a page.
    position bigint not null default currval(pg_get_serial_sequence('settlement', 'position'))
  )`,
  sql`create index withdrawal_by_destination on withdrawal (destination, (-position))`,
  sql`create index withdrawal_by_asset on withdrawal (asset, (-position))`,
  sql`create table reservation (
    settlement_id text not null references settlement (id),
    wallet text not null,
    asset text not null,
    amount numeric(20, 0) not null check (amount >= 0),
    state text not null check (state in ('open', 'landed', 'released')),
    slot bigint,
    primary key (settlement_id, wallet, asset),
    check ((state = 'landed') = (slot is not null))
  )`,
  sql`create index reservation_landed on reservation (wallet, slot) where state = 'landed'`,
  // Sums of the open reservations of each wallet and asset. Triggers update them, so that no statement on `reservation`
  // can omit it. Each sum is split into parts by settlement, so that two settlements that end at once seldom update the
  // same row.
  sql`create function reserved_part(settlement_id text) returns smallint language sql immutable parallel safe
    as $$ select abs(hashtext(settlement_id) % 16)::smallint $$`,
  sql`create table reserved (
    wallet text not null,
    asset text not null,
    part smallint not null,
    amount numeric not null,
    open bigint not null,
    primary key (wallet, asset, part)
  ) with (fillfactor = 50)`,
  // Rows are updated in a fixed order, so that two statements on the same wallets cannot deadlock.
  sql`create function sum_reserved() returns trigger language plpgsql as $$
    begin
      if tg_op = 'UPDATE' then
        insert into reserved (wallet, asset, part, amount, open)
          select wallet, asset, part, sum(amount), sum(open) from (
            select wallet, asset, reserved_part(settlement_id) as part, amount, 1 as open
              from after_rows where state = 'open'
            union all
            select wallet, asset, reserved_part(settlement_id), -amount, -1 from before_rows where state = 'open'
          ) change group by wallet, asset, part having sum(amount) <> 0 or sum(open) <> 0 order by wallet, asset, part
          on conflict (wallet, asset, part) do update
            set amount = reserved.amount + excluded.amount, open = reserved.open + excluded.open;
      elsif tg_op = 'INSERT' then
        insert into reserved (wallet, asset, part, amount, open)
          select wallet, asset, reserved_part(settlement_id) as part, sum(amount), count(*)
            from after_rows where state = 'open' group by wallet, asset, part order by wallet, asset, part
          on conflict (wallet, asset, part) do update
            set amount = reserved.amount + excluded.amount, open = reserved.open + excluded.open;
      else
        raise exception 'a reservation is never deleted';
      end if;
      return null;
    end $$`,
  sql`create trigger reservation_inserted after insert on reservation
    referencing new table as after_rows for each statement execute function sum_reserved()`,
  sql`create trigger reservation_updated after update on reservation
    referencing old table as before_rows new table as after_rows for each statement execute function sum_reserved()`,
  sql`create trigger reservation_deleted before delete on reservation for each row execute function sum_reserved()`,
]);
