import type { DepositAddressState } from '../../domain/deposit.ts';
import type { Database, RowOf } from '../database.ts';
import { ADDRESS_STATE } from './addresses-after-restore.ts';

/**
 * A wallet for one user's deposits. `since` and `watchedAfter` are slots: an audit must read the transactions between
 * them.
 */
export type DepositAddressRow = Omit<RowOf<'depositAddress'>, 'state'> & {
  readonly state: DepositAddressState;
  readonly watchedAfter: bigint | null;
};

/** Selects deposit addresses. `state` is {@link ADDRESS_STATE} instead of the stored column. */
export function depositAddressRows(db: Database) {
  return db
    .selectFrom('depositAddress')
    .innerJoin('watchedWallet', 'watchedWallet.address', 'depositAddress.address')
    .selectAll('depositAddress')
    .select(['watchedAfter', ADDRESS_STATE.as('state')]);
}
