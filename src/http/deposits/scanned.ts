import { DomainError } from '../../domain/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { assertReached } from '../../ledger/scan/scan-cursor.ts';

/** @throws DomainError SlotsNotRecorded if the scan has not reached `to`, the last slot of a range */
export async function assertScanned({ scan }: Pick<Ledger, 'scan'>, to: bigint): Promise<void> {
  assertReached(await scan.cursor(), to);
}

/**
 * Refuses a start slot in the future: an audit from it would find nothing. Returns `newest`, the chain's newest slot.
 *
 * @throws DomainError SlotsNotRecorded if `since` is in the future
 */
export function assertPast(since: bigint, newest: bigint): bigint {
  if (since <= newest) return newest;
  throw new DomainError('SlotsNotRecorded', `since: the newest slot is ${newest}`, { field: 'since' });
}
