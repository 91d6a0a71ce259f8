import { sql } from 'kysely';
import { inOrder } from '../in-order.ts';

/** Indexes and sums for ten million rows. Each changes one table that older processes use: see `MIGRATIONS`. */

/** The wallet that pays the fee is the first signer. */
export const attemptsByPayer = inOrder([
  sql`create index attempt_by_fee_payer on attempt ((signers[1]), blockhash_slot)`,
  sql`create index attempt_prepared on attempt (kind, last_valid_block_height) where state = 'prepared'`,
  sql`create index attempt_signed on attempt (kind, created_at) where signature is not null and state <> 'prepared'`,
]);

/** The newest of a kind, and of a kind and status; the orders are those of `negative` and `negated` in page.ts. */
export const settlementsByKind = inOrder([
  sql`drop index settlement_by_kind`,
  sql`create index settlement_by_kind on settlement (kind, (-position))`,
  sql`create index settlement_by_kind_and_status on settlement (kind, status, (0 - position))`,
  sql`create index settlement_unpaid_end on settlement (kind, updated_at)
    where status in ('rejected', 'cancelled', 'failed', 'dead')`,
]);

/** A withdrawal has the position of its settlement, so that one index filters and orders a page. */
export const withdrawalPositions = inOrder([
  sql`alter table withdrawal add column position bigint`,
  sql`update withdrawal set position = settlement.position from settlement where settlement.id = withdrawal.id`,
  // An older process inserts the settlement first, in the same statement: this is the position just drawn.
  sql`alter table withdrawal
    alter column position set default currval(pg_get_serial_sequence('settlement', 'position')),
    alter column position set not null`,
  sql`drop index withdrawal_by_destination`,
  sql`create index withdrawal_by_destination on withdrawal (destination, (-position))`,
  sql`create index withdrawal_by_asset on withdrawal (asset, (-position))`,
]);

/**
 * Sum of the open reservations of each wallet and asset. Triggers maintain it, so that no statement on `reservation`
 * can miss it. It has parts, each for some settlements: two that end at once seldom change the same row.
 */
export const reservationSums = inOrder([
  sql`lock table reservation in share row exclusive mode`,
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
  // The rows are changed in one order, so that two statements on the same wallets cannot deadlock.
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
  sql`insert into reserved (wallet, asset, part, amount, open)
    select wallet, asset, reserved_part(settlement_id) as part, sum(amount), count(*)
      from reservation where state = 'open' group by wallet, asset, part`,
]);

export const waitingDeliveries = inOrder([
  sql`create index webhook_delivery_waiting on webhook_delivery (endpoint, sequence) where state = 'waiting'`,
  sql`create index webhook_delivery_tried on webhook_delivery (endpoint, handed_at desc nulls last)
    where state = 'waiting' and attempts > 0`,
  sql`create index webhook_delivery_undelivered on webhook_delivery (sequence) where state <> 'delivered'`,
  sql`create index webhook_delivery_dead_at on webhook_delivery (endpoint, settled_at desc nulls last) where state = 'dead'`,
]);

export const oldEvents = inOrder([sql`create index webhook_event_by_age on webhook_event (created_at)`]);

export const paymentsByState = inOrder([
  sql`drop index payment_by_state`,
  sql`create index payment_by_state on payment (state, (-position))`,
]);

export const depositsByFilter = inOrder([
  sql`drop index deposit_by_asset`,
  sql`drop index deposit_by_state`,
  sql`create index deposit_by_asset on deposit (asset, (-id))`,
  sql`create index deposit_by_state on deposit (state, (-id))`,
]);

export const openAlerts = inOrder([sql`create index alert_open on alert (position) where closed_at is null`]);

export const hotWallets = inOrder([
  sql`create index watched_wallet_hot on watched_wallet (address) where kind = 'hot'`,
]);
