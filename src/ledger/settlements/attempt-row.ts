import type { Selectable } from 'kysely';
import { DomainError } from '../../domain/errors.ts';
import { mayFollow, type StatusReason } from '../../domain/settlement.ts';
import { type AttemptState, anyOf, type Database, type Tables } from '../database.ts';
import type { SettlementRow } from './settlement-row.ts';

/** One transaction for a settlement, from before it is signed to its end. `message` is base64, `messageHash` hex of SHA-256. */
export type AttemptRow = Readonly<Omit<Selectable<Tables['attempt']>, 'createsAccount'>> & {
  /** Whether it makes the receiver's token account; null for other kinds, and for attempts that an older worker prepared. */
  readonly createsAccount?: boolean | null;
};

/** How an attempt ended. `slot` is required but for `dead`, `proof` for `dead`; it is kept as JSON, bigint as decimal strings. */
export interface AttemptOutcome {
  readonly state: 'landed' | 'failed' | 'dead';
  readonly slot?: bigint;
  readonly error?: string;
  /** The one that was judged, null for one without: after a restore, or signed meanwhile, an attempt of the same number is another one. */
  readonly signature?: string | null;
  /** What the chain charged, where it is known. */
  readonly feeLamports?: bigint;
  /** What it paid for the token account that it made, where that is known: nothing where somebody else had made it. */
  readonly rentLamports?: bigint;
  readonly proof: unknown;
  /** Why, for `failed`. */
  readonly reason?: StatusReason;
  /** For `failed`: its cause can pass, so that the next attempt of a message that we compose may succeed. Default: false. */
  readonly mayPass?: boolean;
  /** Base units that reached the destination, for `landed`. */
  readonly amountReceived?: bigint;
}

/** An attempt in one of these has not ended. */
export const LIVE: readonly AttemptState[] = ['prepared', 'signed'];

/** An attempt in one of these has paid its settlement, or may yet. All others are proved never to land: dead, or failed in a block. */
export const MAY_HAVE_PAID: readonly AttemptState[] = [...LIVE, 'landed'];

/** Oldest first. */
export async function attemptsOf(db: Database, settlementId: string): Promise<readonly AttemptRow[]> {
  return db.selectFrom('attempt').selectAll().where('settlementId', '=', settlementId).orderBy('n').execute();
}

/** By settlement; see `Attempts.newestSignatures`. */
export async function newestSignatures(
  db: Database,
  settlementIds: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await db
    .selectFrom('attempt')
    .distinctOn('settlementId')
    .select(['settlementId', 'signature'])
    .where('settlementId', '=', anyOf(settlementIds))
    .orderBy('settlementId')
    .orderBy('n', 'desc')
    .execute();
  return new Map(rows.map((row) => [row.settlementId, row.signature]));
}

/** Throws NotFound. */
export async function readAttempt(db: Database, settlementId: string, n: number): Promise<AttemptRow> {
  const row = await db
    .selectFrom('attempt')
    .selectAll()
    .where('settlementId', '=', settlementId)
    .where('n', '=', n)
    .executeTakeFirst();
  if (row !== undefined) return row;
  throw new DomainError('NotFound', `settlement ${settlementId} has no attempt ${n}`, { settlementId, n });
}

/** The error for a step that its state forbids. */
export function illegal(row: AttemptRow, wish: string): DomainError {
  const { settlementId, n, state } = row;
  return new DomainError(
    'IllegalTransition',
    `attempt ${settlementId}/${n} is ${state} and may not ${wish}`,
    {
      settlementId,
      n,
      state,
    },
  );
}

/** Throws IllegalTransition unless all attempts so far are proved never to land, and `n` is the next. */
export function refuseAnother(
  { id, status }: SettlementRow,
  { n }: Pick<AttemptRow, 'n'>,
  earlier: readonly AttemptRow[],
): void {
  const open = earlier.find(({ state }) => MAY_HAVE_PAID.includes(state));
  if (open === undefined && n === earlier.length + 1 && mayFollow(status, 'preparing')) return;
  const reason = open === undefined ? `it is ${status}` : `attempt ${open.n} is ${open.state}`;
  const message = `attempt ${n} of ${id} may not be prepared: ${reason}`;
  throw new DomainError('IllegalTransition', message, { settlementId: id, n, status });
}
