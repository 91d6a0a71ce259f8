import { createHash } from 'node:crypto';
import { depositKey } from '../../domain/deposit-key.ts';

/**
 * Public id of a deposit. It is derived from chain data alone, so every copy of the database has the same one. A
 * deposit that a restore lost and the scan finds again keeps its id: clients that book by id book once.
 */
export function depositId(deposit: Parameters<typeof depositKey>[0]): string {
  return `dep_${createHash('sha256').update(depositKey(deposit)).digest('hex').slice(0, 32)}`;
}
