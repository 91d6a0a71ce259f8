import type { Selectable } from 'kysely';
import { DomainError } from '../domain/errors.ts';
import type { AttemptState, Database, Tables } from './database.ts';

/** One transaction for a withdrawal, from before it is signed to its end. `message` and `raw` are base64, `messageHash` hex of SHA-256. */
export type AttemptRow = Readonly<Selectable<Tables['attempt']>>;

/** An attempt in one of these has not ended. */
export const LIVE: readonly AttemptState[] = ['prepared', 'signed'];

/** Oldest first. */
export async function attemptsOf(db: Database, withdrawalId: string): Promise<readonly AttemptRow[]> {
  return db.selectFrom('attempt').selectAll().where('withdrawalId', '=', withdrawalId).orderBy('n').execute();
}

/** Throws NotFound. */
export async function readAttempt(db: Database, withdrawalId: string, n: number): Promise<AttemptRow> {
  const row = await db
    .selectFrom('attempt')
    .selectAll()
    .where('withdrawalId', '=', withdrawalId)
    .where('n', '=', n)
    .executeTakeFirst();
  if (row !== undefined) return row;
  throw new DomainError('NotFound', `withdrawal ${withdrawalId} has no attempt ${n}`, { withdrawalId, n });
}

/** The error for a step that its state forbids. */
export function illegal(row: AttemptRow, wish: string): DomainError {
  const { withdrawalId, n, state } = row;
  return new DomainError(
    'IllegalTransition',
    `attempt ${withdrawalId}/${n} is ${state} and may not ${wish}`,
    {
      withdrawalId,
      n,
      state,
    },
  );
}
