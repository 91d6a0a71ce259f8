import { type RawBuilder, sql } from 'kysely';
import { DomainError } from '../domain/errors.ts';

/** Request for a page of a list, newest first; `cursor` is the `nextCursor` of the previous page. */
export interface PageRequest {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** A page of a list. `nextCursor` is null on the last page. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

/** Format of a cursor, which is the position of the last row of its page. */
export const CURSOR_FORMAT = /^[1-9][0-9]{0,17}$/;

/** Above every position that a row can have. */
const POSITION_LIMIT = 10n ** 18n;

/**
 * The position that all rows of the page are below. Throws InvalidRequest for a cursor that is not from an earlier
 * page.
 */
export function positionBefore({ cursor }: PageRequest): bigint {
  if (cursor === undefined) return POSITION_LIMIT;
  if (CURSOR_FORMAT.test(cursor)) return BigInt(cursor);
  throw new DomainError('InvalidRequest', 'cursor must be the nextCursor of an earlier page', {
    field: 'cursor',
  });
}

/**
 * SQL `(- column)`, for `order by` and `where` of a filtered list with an index on its filter and this expression. With
 * the plain column the planner could choose the index on that column and read all newer rows that do not match.
 * Positions of a page's rows are above `-positionBefore`.
 */
export function negationOf(column: string): RawBuilder<bigint> {
  return sql<bigint>`(- ${sql.ref(column)})`;
}

/**
 * SQL `(0 - column)`, for a list with two filters and an index on both and this expression. Unlike {@link negationOf},
 * it does not match the index on the first filter alone, which would read all rows that do not match the second.
 */
export function zeroMinus(column: string): RawBuilder<bigint> {
  return sql<bigint>`(0 - ${sql.ref(column)})`;
}

interface PageQuery<Row> {
  limit(limit: number): { execute(): Promise<readonly Row[]> };
}

/** Reads a page of `query`, which returns all rows below {@link positionBefore}, newest first. */
export async function readPage<Row extends { readonly position: bigint }>(
  query: PageQuery<Row>,
  { limit }: PageRequest,
): Promise<Page<Row>> {
  const found = await query.limit(limit + 1).execute();
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > limit && last !== undefined ? last.position.toString() : null };
}

export function mapPage<Stored, Row>(page: Page<Stored>, toRow: (stored: Stored) => Row): Page<Row> {
  return { ...page, rows: page.rows.map(toRow) };
}
