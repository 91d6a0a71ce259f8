import type { Ledger } from '../ledger/ledger.ts';
import { notSet, readDevFile } from './dev-file.ts';

/** Runs `work` on the database, for commands that work without the API. Throws DomainError Unavailable. */
export async function withRecord<T>(work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const url = recordUrl();
  if (url === undefined) throw notSet('DATABASE_URL');
  // Imported here, so that other commands start without a database client.
  const [{ openLedger }, { databaseFault }] = await Promise.all([
    import('../ledger/ledger.ts'),
    import('../ledger/connection.ts'),
  ]);
  const ledger = await openLedger(url);
  try {
    return await work(ledger);
  } catch (error) {
    throw databaseFault(error) ?? error;
  } finally {
    await ledger.close();
  }
}

export function recordUrl(): string | undefined {
  return process.env.DATABASE_URL || readDevFile().databaseUrl;
}
