import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { depositKey } from '../../domain/deposit.ts';

/**
 * Public id of a deposit, derived from chain data alone. A deposit that a restore lost and the scan finds again has
 * the same id, so that clients that book by id book once.
 */
export function depositId(deposit: Parameters<typeof depositKey>[0]): string {
  return `dep_${createHash('sha256').update(depositKey(deposit)).digest('hex').slice(0, 32)}`;
}

/** True for the deposit with this public id. The expression is that of the index `deposit_by_public_id`. */
export function hasPublicId(id: string) {
  return sql<boolean>`substring(sha256(decode(replace(deposit.signature || '/' || deposit.slot::text || '/' ||
    deposit.account || '/' || deposit.asset, '\\', '\\\\'), 'escape')) from 1 for 16) = ${Buffer.from(id.replace(/^dep_/, ''), 'hex')}`;
}
