import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { newApiKey } from '../ledger/api-keys.ts';

/**
 * The API key of `path`, made (readable by the owner only) where the file does not exist: clients of before a restart are known after it.
 */
export function keptApiKey(path: string): string {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${newApiKey()}\n`, { mode: 0o600 });
  }
  return readFileSync(path, 'utf8').trim();
}

/** Who somebody with this key of a local stack is on record; stacks that share one have names of their own. */
export function nameOfKey(key: string): string {
  return `dev-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
}
