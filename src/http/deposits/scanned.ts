import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { assertReached } from '../../ledger/scan/scan-cursor.ts';

/** @throws DomainError SlotsNotRecorded where the scan has not come to the last slot of a range, `to`, yet */
export async function assertScanned({ scan }: Pick<Ledger, 'scan'>, to: bigint): Promise<void> {
  assertReached(await scan.cursor(), to);
}

/**
 * Nothing can have been paid in a slot that is not yet: an audit from there on would look at nothing. Answers `newest`, how far the
 * chain is.
 *
 * @throws DomainError SlotsNotRecorded for a slot of the future, `since`
 */
export function assertPast(since: bigint, newest: bigint): bigint {
  if (since <= newest) return newest;
  throw new DomainError('SlotsNotRecorded', `since: the newest slot is ${newest}`, { field: 'since' });
}
