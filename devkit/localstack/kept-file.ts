import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** The text of the file `path`, made (readable by the owner only) where it does not exist: what is there is never written over. */
export function keptFile(path: string, make: () => string): string {
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(path, make(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return readFileSync(path, 'utf8');
}
