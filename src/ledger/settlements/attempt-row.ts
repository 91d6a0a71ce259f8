import type { AttemptState } from '../../domain/attempt.ts';
import { DomainError } from '../../domain/errors.ts';
import { mayFollow, type StatusReason } from '../../domain/settlement.ts';
import type { Database, RowOf } from '../database.ts';
import type { SettlementRow } from './settlement-row.ts';

/** One transaction of a settlement. `message` is base64, `messageHash` the SHA-256 in hex. */
export type AttemptRow = RowOf<'attempt'>;

/** `slot` is required unless `dead`, `proof` if `dead`. The proof is stored as JSON, bigint as decimal strings. */
export interface AttemptOutcome {
  readonly state: 'landed' | 'failed' | 'dead';
  readonly slot?: bigint;
  readonly error?: string;
  /** The judged signature, null if unsigned: after a restore or a late signature the attempt is another one. */
  readonly signature?: string | null;
  /** The fee that the chain charged, if known. */
  readonly feeLamports?: bigint;
  /** The rent that it paid for the token account, if known; 0 if the account existed already. */
  readonly rentLamports?: bigint;
  readonly proof: unknown;
  /** For `failed`. */
  readonly reason?: StatusReason;
  /** For `failed`: the cause can pass, so a next attempt of our own message may succeed. Default: false. */
  readonly mayPass?: boolean;
  /** For `landed`: base units that reached the destination. */
  readonly amountReceived?: bigint;
}

/** States of an attempt that has not ended. */
export const LIVE: readonly AttemptState[] = ['prepared', 'signed'];

/** States of an attempt that has paid, or may yet. All others are proved never to pay: dead, or failed. */
export const MAY_HAVE_PAID: readonly AttemptState[] = [...LIVE, 'landed'];

/** Oldest first. */
export async function attemptsOf(db: Database, settlementId: string): Promise<readonly AttemptRow[]> {
  return db.selectFrom('attempt').selectAll().where('settlementId', '=', settlementId).orderBy('n').execute();
}

/** Throws NotFound. */
export async function readAttempt(db: Database, settlementId: string, n: number): Promise<AttemptRow> {
  const query = db.selectFrom('attempt').selectAll().where('settlementId', '=', settlementId);
  return query
    .where('n', '=', n)
    .executeTakeFirstOrThrow(
      () =>
        new DomainError('NotFound', `settlement ${settlementId} has no attempt ${n}`, { settlementId, n }),
    );
}

export function illegal(row: AttemptRow, wish: string): DomainError {
  const { settlementId, n, state } = row;
  return new DomainError('IllegalTransition', `attempt ${settlementId}/${n} is ${state} and cannot ${wish}`, {
    settlementId,
    n,
    state,
  });
}

/** Throws IllegalTransition unless all earlier attempts are proved never to pay, and `n` is the next number. */
export function refuseAnother(
  { id, status }: SettlementRow,
  { n }: Pick<AttemptRow, 'n'>,
  earlier: readonly AttemptRow[],
): void {
  const open = earlier.find(({ state }) => MAY_HAVE_PAID.includes(state));
  if (open === undefined && n === earlier.length + 1 && mayFollow(status, 'preparing')) return;
  const reason = open === undefined ? `it is ${status}` : `attempt ${open.n} is ${open.state}`;
  const message = `attempt ${n} of ${id} cannot be prepared: ${reason}`;
  throw new DomainError('IllegalTransition', message, { settlementId: id, n, status });
}
