import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { depositKey } from '../../domain/deposit.ts';

/**
 * Public id of a deposit, derived from chain data alone. If a restore loses a deposit and the scan finds it again,
 * the id stays the same, so that clients which deduplicate by id credit the deposit only once.
 */
export function depositId(deposit: Parameters<typeof depositKey>[0]): string {
  return `dep_${createHash('sha256').update(depositKey(deposit)).digest('hex').slice(0, 32)}`;
}

/**
 * Condition for the deposit with this public id. Keep the expression equal to that of the index
 * `deposit_by_public_id`, so that the index is used.
 */
export function hasPublicId(id: string) {
  return sql<boolean>`substring(sha256(decode(replace(deposit.signature || '/' || deposit.slot::text || '/' ||
    deposit.account || '/' || deposit.asset, '\\', '\\\\'), 'escape')) from 1 for 16) = ${Buffer.from(id.replace(/^dep_/, ''), 'hex')}`;
}
