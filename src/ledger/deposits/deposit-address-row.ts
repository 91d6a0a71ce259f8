import type { DepositAddressState } from '../../domain/deposit.ts';
import type { Database, RowOf } from '../database.ts';
import { STATE } from './addresses-after-restore.ts';

/** A wallet for users' deposits. `since` and `watchedAfter` are slots; transactions between them need an audit. */
export type DepositAddressRow = Omit<RowOf<'depositAddress'>, 'state'> & {
  readonly state: DepositAddressState;
  readonly watchedAfter: bigint | null;
};

/** All deposit addresses, with the state that {@link STATE} computes in place of the stored one. */
export function depositAddressRows(db: Database) {
  return db
    .selectFrom('depositAddress')
    .innerJoin('watchedWallet', 'watchedWallet.address', 'depositAddress.address')
    .selectAll('depositAddress')
    .select(['watchedAfter', STATE.as('state')]);
}
