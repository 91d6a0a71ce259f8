import { createHash } from 'node:crypto';
import { depositKey } from '../../domain/deposit-key.ts';

/**
 * What others know a deposit by. It is made of what the chain says, so that a deposit has the same one in every copy of the record,
 * also where it was lost with one and is found again: whoever books under it books once.
 */
export function depositId(deposit: Parameters<typeof depositKey>[0]): string {
  return `dep_${createHash('sha256').update(depositKey(deposit)).digest('hex').slice(0, 32)}`;
}
