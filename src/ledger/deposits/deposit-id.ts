import { createHash } from 'node:crypto';
import { depositKey } from '../../domain/deposit-key.ts';

/**
 * Public id of a deposit, derived from chain data alone. A deposit that a restore lost and the scan finds again has
 * the same id, so that clients that book by id book once.
 */
export function depositId(deposit: Parameters<typeof depositKey>[0]): string {
  return `dep_${createHash('sha256').update(depositKey(deposit)).digest('hex').slice(0, 32)}`;
}
