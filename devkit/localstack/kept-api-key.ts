import { createHash } from 'node:crypto';
import { newApiKey } from '../../src/ledger/operations/api-keys.ts';
import { keptFile } from './kept-file.ts';

/**
 * The API key of `path`, made (readable by the owner only) where the file does not exist: clients of before a restart are known after it.
 */
export function keptApiKey(path: string): string {
  return keptFile(path, () => `${newApiKey()}\n`).trim();
}

/** Who somebody with this key of a local stack is on record; stacks that share one have names of their own. */
export function nameOfKey(key: string): string {
  return `dev-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
}
