import { type SelectQueryBuilder, sql } from 'kysely';
import { type Database, type RowOf, type Tables } from '../database.ts';
import { mapPage, type Page, type PageRequest, positionBefore, readPage } from '../page.ts';
import { type PaymentRow, type StoredPayment, toPaymentRow } from './payment-row.ts';

/** All conditions must match. `asset`: address of the mint. */
export interface SaleFilter {
  readonly route?: string | undefined;
  readonly payer?: string | undefined;
  readonly asset?: string | undefined;
  readonly seller?: RowOf<'payment'>['seller'] | undefined;
  /** Payments that Sluice first received at this time or later. */
  readonly from?: Date | undefined;
  /** Payments that Sluice first received before this time. */
  readonly to?: Date | undefined;
}

export interface PaymentFilter extends SaleFilter, PageRequest {
  readonly state?: PaymentRow['state'] | undefined;
}

/** Newest first. Each filter has an index that ends in time and position, so a page reads no newer rows. */
export async function listPayments(db: Database, filter: PaymentFilter): Promise<Page<PaymentRow>> {
  const { state, cursor } = filter;
  const before = positionBefore(filter);
  const newest = whereSale(db.selectFrom('payment').selectAll(), filter)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? 'void'))
    .$if(cursor !== undefined, (query) => query.where(isOlderThan(before)))
    .orderBy('createdAt', 'desc')
    .orderBy('position', 'desc');
  return mapPage(await readPage<StoredPayment>(newest, filter), toPaymentRow);
}

export function whereSale<Output>(
  query: SelectQueryBuilder<Tables, 'payment', Output>,
  { route, payer, asset, seller, from, to }: SaleFilter,
): SelectQueryBuilder<Tables, 'payment', Output> {
  let found = query;
  if (route !== undefined) found = found.where('route', '=', route);
  if (payer !== undefined) found = found.where('payer', '=', payer);
  if (asset !== undefined) found = found.where(ASSET, '=', asset);
  if (seller !== undefined) found = found.where('seller', '=', seller);
  if (from !== undefined) found = found.where('createdAt', '>=', from);
  if (to !== undefined) found = found.where('createdAt', '<', to);
  return found;
}

/** The expression of an index. */
export const ASSET = sql<string>`(terms ->> 'asset')`;

/** Payments of one transaction have the same time, so the position decides. */
function isOlderThan(position: bigint) {
  return sql<boolean>`(created_at, position) <
    ((select created_at from payment where position = ${position}), ${position}::bigint)`;
}
