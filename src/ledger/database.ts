import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from 'kysely';
import type { Tables } from './tables.ts';

export type { Tables } from './tables.ts';

export type Database = Kysely<Tables>;
export type Trx = Transaction<Tables>;
export type RowOf<Table extends keyof Tables> = Readonly<Selectable<Tables[Table]>>;

/** Base class for the reads and writes of related tables. */
export abstract class Repository {
  protected readonly db: Database;

  constructor(db: Database) {
    this.db = db;
  }
}

/** `count(*)` as a number; without the cast it is a bigint. */
export const COUNT = sql<number>`count(*)::integer`;

/** True if the query returns a row. */
export async function exists(query: { executeTakeFirst(): Promise<unknown> }): Promise<boolean> {
  return (await query.executeTakeFirst()) !== undefined;
}

/**
 * For `where(column, '=', anyOf(values))`: passes all values as one parameter, because a query can have only 65,535.
 */
export function anyOf(values: readonly string[]): RawBuilder<string> {
  return sql<string>`any(${values}::text[])`;
}

/** {@link anyOf} for integers, as bigint or decimal strings. */
export function anyOfNumbers(values: readonly (bigint | string)[]): RawBuilder<bigint> {
  return sql<bigint>`any(${values.map(String)}::bigint[])`;
}

declare const LOCK: unique symbol;

/**
 * A value of type `Value` that proves that this transaction holds `Lock`. Only the function that takes the lock creates
 * it.
 */
export type LockProof<Value, Lock extends string> = Value & { readonly [LOCK]: Lock };

/** `value` as JSON, with bigint as decimal strings; null for null and undefined. */
export function toJson(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'bigint' ? field.toString() : field,
  );
}
