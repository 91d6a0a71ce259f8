import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { assertReached } from '../ledger/scan-cursor.ts';

/** @throws DomainError InvalidRequest where the scan has not come to the last slot of a range, `to`, yet */
export async function assertScanned({ scan }: Pick<Ledger, 'scan'>, to: bigint): Promise<void> {
  assertReached(await scan.cursor(), to);
}

/**
 * Nothing can have been paid in a slot that is not yet: an audit from there on would look at nothing. `tip`: the newest final slot, null
 * where no nodes are known, and the scan says how far the chain is. Answers how far that is.
 *
 * @throws DomainError InvalidRequest for a slot of the future, `since`
 */
export async function assertPast(
  { scan }: Pick<Ledger, 'scan'>,
  since: bigint,
  tip: (() => Promise<bigint>) | null,
): Promise<bigint> {
  const newest = tip === null ? ((await scan.cursor())?.slot ?? null) : await tip();
  if (newest !== null && since <= newest) return newest;
  const message = `since: the newest final slot is ${newest ?? 'not known: no scan has begun'}`;
  throw new DomainError('InvalidRequest', message, { field: 'since' });
}
