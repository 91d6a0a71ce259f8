import { userInfo } from 'node:os';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { SluiceClient } from '../client/client.ts';
import type { OperatorNote } from '../domain/operator-note.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Connection, connect } from './connection.ts';
import { missingSetting, readDevFile } from './dev-file.ts';
import { UsageError } from './exit.ts';
import { jsonOf } from './output.ts';

/** Runs `work` on the database, for commands that work without the API. Throws DomainError Unavailable. */
export async function withDatabase<T>(work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const url = databaseUrl();
  if (url === undefined) throw missingSetting('DATABASE_URL');
  // A dynamic import, so that other commands start without a database client.
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

export function databaseUrl(): string | undefined {
  return process.env.DATABASE_URL || readDevFile().databaseUrl;
}

export const DATABASE_OPTION = [
  '--database',
  'Emergency: use PostgreSQL (DATABASE_URL) directly while the API is down',
] as const;

/** Calls the API or, with `--database`, the ledger, whose rows are converted to the API's format. */
export async function byApiOrDatabase<Answer>(
  options: Connection & { readonly database?: true | undefined },
  calls: {
    readonly api: (sluice: SluiceClient) => Promise<Answer>;
    readonly database: (ledger: Ledger) => Promise<unknown>;
  },
): Promise<Answer> {
  if (options.database !== true) return calls.api(connect(options));
  return JSON.parse(jsonOf(await withDatabase(calls.database)));
}

/** The note of a command that bypasses the API. Its actor is the user of this machine. */
export function operatorNote(reason: string): OperatorNote {
  if (reason.trim() === '') throw new UsageError('--reason must not be empty');
  return { actor: userInfo().username, reason: reason.trim() };
}

export function parsePositions(text: string): readonly string[] {
  const all = text.split(',').map((one) => one.trim());
  if (!all.every((one) => /^[0-9]{1,18}$/.test(one)))
    throw new InvalidArgumentError('It must be whole numbers with commas between them.');
  return all;
}
