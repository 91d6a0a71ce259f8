import { type RawBuilder, sql } from 'kysely';
import { DomainError } from '../domain/errors.ts';

/** A page of a list, newest first; `cursor` is the `nextCursor` of the page before. */
export interface PageRequest {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** `nextCursor` is null on the last page. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

/** A cursor is the position of the last row of its page. */
export const CURSOR = /^[1-9][0-9]{0,17}$/;

/** Above every position that a row can have. */
const NEWEST = 10n ** 18n;

/** The page's rows are below this. Throws InvalidRequest for a cursor that is not from an earlier page. */
export function positionBefore({ cursor }: PageRequest): bigint {
  if (cursor === undefined) return NEWEST;
  if (CURSOR.test(cursor)) return BigInt(cursor);
  throw new DomainError('InvalidRequest', 'cursor must be the nextCursor of an earlier page', {
    field: 'cursor',
  });
}

/**
 * For `order by` and `where` of a list with an index on its filter and this expression. With the plain column the
 * planner may use that column's index, and read all newer rows that do not match. A page's rows are above
 * `-positionBefore`.
 */
export function negationOf(column: string): RawBuilder<bigint> {
  return sql<bigint>`(- ${sql.ref(column)})`;
}

/**
 * {@link negative} in another form, for an index on two filters beside an index on the first. The planner cannot use
 * the latter, which would read all newer rows that do not match the second filter.
 */
export function zeroMinus(column: string): RawBuilder<bigint> {
  return sql<bigint>`(0 - ${sql.ref(column)})`;
}

interface PageQuery<Row> {
  limit(limit: number): { execute(): Promise<readonly Row[]> };
}

/** `newest`: all rows below {@link positionBefore}, newest first. */
export async function readPage<Row extends { readonly position: bigint }>(
  newest: PageQuery<Row>,
  { limit }: PageRequest,
): Promise<Page<Row>> {
  const found = await newest.limit(limit + 1).execute();
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > limit && last !== undefined ? last.position.toString() : null };
}

export function mapPage<Stored, Row>(page: Page<Stored>, toRow: (stored: Stored) => Row): Page<Row> {
  return { ...page, rows: page.rows.map(toRow) };
}
