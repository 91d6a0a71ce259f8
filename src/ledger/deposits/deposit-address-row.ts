import { type Selectable } from 'kysely';
import type { Database, Tables } from '../database.ts';
import { STATE } from './addresses-after-restore.ts';

/** A wallet made for users' deposits; `since` and `watchedAfter` are slots: what was before is to be audited in between. */
export type DepositAddressRow = Readonly<Selectable<Tables['depositAddress']>> & {
  readonly watchedAfter: bigint | null;
};

const SHOWN = [
  'depositAddress.address',
  'position',
  'path',
  'userRef',
  'since',
  'auditDue',
  'importedAfter',
  'auditTriedAt',
  'unreadSince',
  'auditAfter',
  'createdAt',
  'assignedAt',
  'assignedAfter',
  'watchedAfter',
] as const;

/** All of them, in the state that counts. */
export function depositAddressRows(db: Database) {
  return db
    .selectFrom('depositAddress')
    .innerJoin('watchedWallet', 'watchedWallet.address', 'depositAddress.address')
    .select(SHOWN)
    .select(STATE.as('state'));
}
