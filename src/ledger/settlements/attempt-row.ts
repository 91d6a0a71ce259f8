import type { AttemptState } from '../../domain/attempt.ts';
import { DomainError } from '../../domain/errors.ts';
import { mayFollow, type StatusReason } from '../../domain/settlement.ts';
import type { Database, RowOf } from '../database.ts';
import type { SettlementRow } from './settlement-row.ts';

/** One transaction of a settlement. `message` is base64, `messageHash` the SHA-256 in hex. */
export type AttemptRow = RowOf<'attempt'>;

/**
 * Outcome of an attempt. `slot` is required unless the attempt is dead. `proof` is stored as JSON, bigints as decimal
 * strings.
 */
export interface AttemptOutcome {
  readonly state: 'landed' | 'failed' | 'dead';
  readonly slot?: bigint;
  readonly error?: string;
  /**
   * Signature that was judged; null if the attempt was unsigned. The outcome is refused if the attempt has another
   * signature by then, after a restore or a late signature.
   */
  readonly signature?: string | null;
  /** The fee that the chain charged, if known. */
  readonly feeLamports?: bigint;
  /** The rent that the attempt paid for a new token account, if known; 0 if the account existed already. */
  readonly rentLamports?: bigint;
  readonly proof: unknown;
  /** For `failed`: why the transaction failed. */
  readonly reason?: StatusReason;
  /**
   * For `failed`: true if the cause is temporary, so that a new attempt of our own message can succeed. Default:
   * false.
   */
  readonly mayPass?: boolean;
  /** For `landed`: base units that reached the destination. */
  readonly amountReceived?: bigint;
}

/** States of an attempt that has not ended. */
export const LIVE_STATES: readonly AttemptState[] = ['prepared', 'signed'];

/** States of an attempt that has paid or can still pay. The other states, dead and failed, are proved never to pay. */
export const POSSIBLY_PAID_STATES: readonly AttemptState[] = [...LIVE_STATES, 'landed'];

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

export function illegalTransition(row: AttemptRow, change: string): DomainError {
  const { settlementId, n, state } = row;
  return new DomainError(
    'IllegalTransition',
    `attempt ${settlementId}/${n} is ${state} and cannot ${change}`,
    {
      settlementId,
      n,
      state,
    },
  );
}

/**
 * Throws IllegalTransition unless `n` is the next number, the status permits an attempt, and no earlier attempt can
 * have paid.
 */
export function refuseUnlessNext(
  { id, status }: SettlementRow,
  { n }: Pick<AttemptRow, 'n'>,
  earlier: readonly AttemptRow[],
): void {
  const payable = earlier.find(({ state }) => POSSIBLY_PAID_STATES.includes(state));
  if (payable === undefined && n === earlier.length + 1 && mayFollow(status, 'preparing')) return;
  const reason =
    payable === undefined ? `the settlement is ${status}` : `attempt ${payable.n} is ${payable.state}`;
  const message = `attempt ${n} of settlement ${id} cannot be prepared: ${reason}`;
  throw new DomainError('IllegalTransition', message, { settlementId: id, n, status });
}
