import { DomainError } from '../domain/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** @throws DomainError InvalidRequest where the scan has not come to the last slot of a range, `to`, yet */
export async function assertScanned({ scan }: Pick<Ledger, 'scan'>, to: bigint): Promise<void> {
  const cursor = await scan.cursor();
  if (cursor !== null && to <= cursor.slot) return;
  const message = `to: the scan has come to ${cursor === null ? 'no slot yet' : `slot ${cursor.slot}`}`;
  throw new DomainError('InvalidRequest', message, { field: 'to' });
}
