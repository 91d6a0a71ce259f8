import { type Kysely, sql } from 'kysely';

/** How far balances are held against the record, and the wallets of which that could not be done when it was their turn. */
export const reconciliation = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await statement.execute(db);
  },
};

const STATEMENTS = [
  sql`create table reconciliation (
    one boolean primary key default true check (one),
    pages bigint not null default 0,
    begun_at timestamptz,
    after text,
    compared_since timestamptz not null default now(),
    check (after is null or begun_at is not null)
  )`,
  sql`create table unread_wallet (
    wallet text primary key,
    why text not null,
    since timestamptz not null default now(),
    asked_at timestamptz not null default now()
  )`,
  sql`create index unread_wallet_by_asked on unread_wallet (asked_at)`,
  sql`create index unread_wallet_by_since on unread_wallet (since)`,
];
