import { type AliasedRawBuilder, type Selectable, sql } from 'kysely';
import { type Tables, toJson } from '../database.ts';

/** The rows as relation `input` with the columns of `table`, in one parameter. Omitted columns are null. */
export function inputRows<T extends keyof Tables>(
  table: T,
  rows: readonly Partial<Selectable<Tables[T]>>[],
): AliasedRawBuilder<Selectable<Tables[T]>, 'input'> {
  const json = toJson(rows.map(inSnakeCase));
  return sql<Selectable<Tables[T]>>`jsonb_populate_recordset(null::${sql.table(table)}, ${json}::jsonb)`.as(
    'input',
  );
}

function inSnakeCase(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]: [string, unknown]) => [
      key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
      value,
    ]),
  );
}
