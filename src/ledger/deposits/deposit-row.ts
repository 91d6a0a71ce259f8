import { type Nullable, type SelectQueryBuilder, sql } from 'kysely';
import type { DepositState } from '../../domain/deposit.ts';
import type { Database, RowOf, Tables } from '../database.ts';

/**
 * Newest slot that is known to be final, even if its block was not read. Imports and assignments store it as their
 * slot.
 */
export const NEWEST_FINAL_SLOT = sql<bigint>`(select greatest(slot, tip) from scan_cursor)`;

/** User of a `deposit`; null for a deposit from before the assignment of its `deposit_address`. */
export const DEPOSIT_USER = sql<
  string | null
>`case when deposit.slot > coalesce(deposit_address.assigned_after, -1)
  then deposit_address.user_ref end`;

/** What one account received in one transaction. `userRef` is null if the address had no user in that slot. */
export type DepositRow = RowOf<'deposit'> & { readonly userRef: string | null };

export interface DepositFilter {
  /** The deposit's wallet. */
  readonly address?: string | undefined;
  readonly userRef?: string | undefined;
  readonly state?: DepositState | undefined;
  readonly asset?: string | undefined;
}

/**
 * A pending `deposit` that one node announced, and whose block is not final yet. The deposit is dropped if the cursor
 * passes its slot first.
 */
export const IS_ANNOUNCED = sql<boolean>`(deposit.state = 'pending' and deposit.finalized_at is null)`;

/** A pending `deposit` in a finalized block, neither confirmed nor denied by a quorum. */
export const IS_UNCONFIRMED = sql<boolean>`(deposit.state = 'pending' and deposit.finalized_at is not null)`;

type DepositQuery = SelectQueryBuilder<
  Omit<Tables, 'depositAddress'> & { depositAddress: Nullable<Tables['depositAddress']> },
  'deposit' | 'depositAddress',
  RowOf<'deposit'> & { userRef: string | null }
>;

export function selectDeposits(db: Database): DepositQuery {
  return db
    .selectFrom('deposit')
    .leftJoin('depositAddress', 'depositAddress.address', 'deposit.wallet')
    .selectAll('deposit')
    .select(DEPOSIT_USER.as('userRef'));
}

export function applyFilter(
  query: DepositQuery,
  { address, userRef, state, asset }: DepositFilter,
): DepositQuery {
  let narrowed = query;
  if (address !== undefined) narrowed = narrowed.where('deposit.wallet', '=', address);
  if (userRef !== undefined)
    narrowed = narrowed.where('depositAddress.userRef', '=', userRef).where(DEPOSIT_USER, '=', userRef);
  if (state !== undefined) narrowed = narrowed.where('deposit.state', '=', state);
  if (asset !== undefined) narrowed = narrowed.where('deposit.asset', '=', asset);
  return narrowed;
}
