import { type RawBuilder, sql } from 'kysely';
import { DomainError } from '../domain/errors.ts';

/** Which page of a list, newest first; `cursor` is the `nextCursor` of the page before. */
export interface PageRequest {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** One page of a list; `nextCursor` is null on the last one. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

/** A cursor is the position of the last row of its page. */
export const CURSOR = /^[1-9][0-9]{0,17}$/;

/** Above every position that a row can have. */
const NEWEST = 10n ** 18n;

/** The rows of the page are those below this position. Throws InvalidRequest for a cursor that no page gave out. */
export function positionBefore({ cursor }: PageRequest): bigint {
  if (cursor === undefined) return NEWEST;
  if (CURSOR.test(cursor)) return BigInt(cursor);
  throw new DomainError('InvalidRequest', 'cursor must be the nextCursor of an earlier page', {
    field: 'cursor',
  });
}

/**
 * For `order by` and `where` of a filtered list, with an index on the filter and this expression. By the plain column the planner may
 * prefer the index on that alone, and read all newer rows that do not pass the filter. What follows a page is above `-positionBefore`.
 */
export function negative(column: string): RawBuilder<bigint> {
  return sql<bigint>`(- ${sql.ref(column)})`;
}

/**
 * {@link negative} in another form, for an index on two filters beside one on the first of them: the planner cannot take the latter, and
 * read all newer rows that do not pass the second filter.
 */
export function negated(column: string): RawBuilder<bigint> {
  return sql<bigint>`(0 - ${sql.ref(column)})`;
}

/** The page of `found`, the newest rows below {@link positionBefore}, one more than the limit where there are so many. */
export function pageOf<Row extends { readonly position: bigint }>(
  found: readonly Row[],
  { limit }: PageRequest,
): Page<Row> {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > limit && last !== undefined ? last.position.toString() : null };
}
