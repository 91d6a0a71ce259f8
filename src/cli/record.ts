import type { Ledger } from '../ledger/ledger.ts';
import { notSet, readDevFile } from './dev-file.ts';

/**
 * Runs `work` on the record itself, for commands that must work while the API is down: DATABASE_URL, else that of a running `npm run
 * dev`. Throws DomainError Unavailable where PostgreSQL does not answer.
 */
export async function withRecord<T>(work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const url = recordUrl();
  if (url === undefined) throw notSet('DATABASE_URL');
  // Loaded here, so that the other commands start without a database client.
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

/** Where the record is, as {@link withRecord} finds it; undefined where nothing says so. */
export function recordUrl(): string | undefined {
  return process.env.DATABASE_URL || readDevFile().databaseUrl;
}
