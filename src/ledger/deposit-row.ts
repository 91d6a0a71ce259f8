import type { Selectable } from 'kysely';
import type { DepositState } from '../domain/deposit.ts';
import type { Database, Tables } from './database.ts';

/** What arrived at one account by one transaction; `userRef` is null where the address was never assigned. */
export type DepositRow = Readonly<Selectable<Tables['deposit']>> & { readonly userRef: string | null };

/** Which deposits; all conditions must hold. */
export interface DepositFilter {
  /** The wallet. */
  readonly address?: string | undefined;
  readonly userRef?: string | undefined;
  readonly state?: DepositState | undefined;
  readonly asset?: string | undefined;
}

export function selectDeposits(db: Database) {
  return db
    .selectFrom('deposit')
    .leftJoin('depositAddress', 'depositAddress.address', 'deposit.wallet')
    .selectAll('deposit')
    .select('depositAddress.userRef');
}

type DepositQuery = ReturnType<typeof selectDeposits>;

export function filtered(
  query: DepositQuery,
  { address, userRef, state, asset }: DepositFilter,
): DepositQuery {
  let narrowed = query;
  if (address !== undefined) narrowed = narrowed.where('deposit.wallet', '=', address);
  if (userRef !== undefined) narrowed = narrowed.where('depositAddress.userRef', '=', userRef);
  if (state !== undefined) narrowed = narrowed.where('deposit.state', '=', state);
  if (asset !== undefined) narrowed = narrowed.where('deposit.asset', '=', asset);
  return narrowed;
}
