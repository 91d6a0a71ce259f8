import { type Nullable, type SelectQueryBuilder, sql } from 'kysely';
import type { DepositState } from '../../domain/deposit.ts';
import type { Database, RowOf, Tables } from '../database.ts';

/** Slot of an import or an assignment: the newest one known to be final, whether its block was read or not. */
export const NEWEST_FINAL = sql<bigint>`(select greatest(slot, tip) from scan_cursor)`;

/** The user of a `deposit`: what a `deposit_address` received before its assignment belongs to no user. */
export const OWNER = sql<string | null>`case when deposit.slot > coalesce(deposit_address.assigned_after, -1)
  then deposit_address.user_ref end`;

/** What one account received in one transaction; `userRef` is null if the address had no user then. */
export type DepositRow = RowOf<'deposit'> & { readonly userRef: string | null };

export interface DepositFilter {
  /** The deposit's wallet. */
  readonly address?: string | undefined;
  readonly userRef?: string | undefined;
  readonly state?: DepositState | undefined;
  readonly asset?: string | undefined;
}

/** A pending `deposit` in no finalized block: one node announced it. Dropped if the cursor passes its slot. */
export const ANNOUNCED = sql<boolean>`(deposit.state = 'pending' and deposit.finalized_at is null)`;

/** A pending `deposit` of a finalized block that no quorum has confirmed or denied. */
export const UNCONFIRMED = sql<boolean>`(deposit.state = 'pending' and deposit.finalized_at is not null)`;

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
    .select(OWNER.as('userRef'));
}

export function filtered(
  query: DepositQuery,
  { address, userRef, state, asset }: DepositFilter,
): DepositQuery {
  let narrowed = query;
  if (address !== undefined) narrowed = narrowed.where('deposit.wallet', '=', address);
  if (userRef !== undefined)
    narrowed = narrowed.where('depositAddress.userRef', '=', userRef).where(OWNER, '=', userRef);
  if (state !== undefined) narrowed = narrowed.where('deposit.state', '=', state);
  if (asset !== undefined) narrowed = narrowed.where('deposit.asset', '=', asset);
  return narrowed;
}
