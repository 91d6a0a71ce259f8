import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import type { Tables } from './tables.ts';

export type { Tables } from './tables.ts';

export type Database = Kysely<Tables>;
export type Trx = Transaction<Tables>;
export type RowOf<Table extends keyof Tables> = Readonly<Selectable<Tables[Table]>>;

/** A part of the ledger: the reads and writes of some tables. */
export abstract class Repository {
  protected readonly db: Database;

  constructor(db: Database) {
    this.db = db;
  }
}

/** Without this cast it is a bigint. */
export const COUNT = sql<number>`count(*)::integer`;

/** True if the query has a row. */
export async function exists(query: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> {
  return (await query.executeTakeFirst()) !== undefined;
}

/** For `where(column, '=', anyOf(values))`: all values are one parameter, of which a query can have 65,535. */
export function anyOf(values: readonly string[]): RawBuilder<string> {
  return sql<string>`any(${values}::text[])`;
}

/** {@link anyOf} for integers, which cursors and callers may have as decimal strings. */
export function anyOfNumbers(values: readonly (bigint | string)[]): RawBuilder<bigint> {
  return sql<bigint>`any(${values.map(String)}::bigint[])`;
}

declare const LOCK: unique symbol;

/** Proof that this transaction has a lock: only the function that takes the lock makes it. */
export type LockProof<Held, Lock extends string> = Held & { readonly [LOCK]: Lock };

/** A value as JSON, bigint as decimal strings; null for null and undefined. */
export function toJson(proof: unknown): string | null {
  if (proof === null || proof === undefined) return null;
  return JSON.stringify(proof, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}
