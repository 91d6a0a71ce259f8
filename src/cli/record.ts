import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Ledger } from '../ledger/ledger.ts';
import { DEV_FILE } from './connection.ts';
import { UsageError } from './exit.ts';

const devFile = z.object({ databaseUrl: z.url() });

/** Runs `work` on the record itself, for commands that must work while the API is down. */
export async function withRecord<T>(work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const url = databaseUrl();
  // Loaded here, so that the other commands start without a database client.
  const { openLedger } = await import('../ledger/ledger.ts');
  const ledger = await openLedger(url);
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** DATABASE_URL, else that of a running `npm run dev`. */
function databaseUrl(): string {
  const given = process.env.DATABASE_URL;
  if (given !== undefined && given !== '') return given;
  try {
    return devFile.parse(JSON.parse(readFileSync(DEV_FILE, 'utf8'))).databaseUrl;
  } catch {
    throw new UsageError(`set DATABASE_URL, or start the stack with "npm run dev", which writes ${DEV_FILE}`);
  }
}
