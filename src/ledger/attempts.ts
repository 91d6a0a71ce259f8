import type { Transaction } from 'kysely';
import { DomainError } from '../domain/errors.ts';
import { isPaidByDead, mayFollow, PAID_BY_DEAD, type StatusReason } from '../domain/withdrawal.ts';
import { type AttemptRow, attemptsOf, illegal, LIVE, readAttempt } from './attempt-row.ts';
import { violates } from './connection.ts';
import type { Database, Tables } from './database.ts';
import { GENERATION } from './doubt.ts';
import { leaseNonce, lockFreeNonce, returnNonce } from './nonces.ts';
import {
  landFee,
  landReservations,
  type ReservationInput,
  reserveFunds,
  type Shortage,
} from './reservations.ts';
import { stopOf } from './stops.ts';
import { toJson } from './to-json.ts';
import { enterStatus, lockWithdrawal, type WithdrawalRow } from './withdrawal-row.ts';

export type { AttemptRow } from './attempt-row.ts';
export type { ReservationInput } from './reservations.ts';

export type NewAttempt = Omit<
  AttemptRow,
  'state' | 'signature' | 'raw' | 'slot' | 'error' | 'proof' | 'generation' | 'createdAt'
>;

/** `stopped`: no attempt may be prepared now, for this or for any withdrawal. `nonce_taken`: compose with another nonce account. */
export type PrepareResult =
  | { readonly kind: 'prepared'; readonly attempt: AttemptRow }
  | { readonly kind: 'nonce_taken' }
  | { readonly kind: 'stopped'; readonly reason: StatusReason }
  | Shortage;

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
  /** Base units that reached the destination, for `landed`. */
  readonly amountReceived?: bigint;
}

/** The signed transactions of withdrawals. Every step may be repeated and is then a success without effect. */
export class Attempts {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Writes the n-th attempt, reserves its money and leases its nonce account in one transaction, or answers what is missing or stops it.
   * The row's existence forbids cancelling and any other attempt until this one is settled as dead. An own (id, n) on record is returned
   * as it is. Throws IllegalTransition; MessageTaken where another attempt has these very bytes.
   */
  async prepare(input: NewAttempt, reserve: ReservationInput): Promise<PrepareResult> {
    try {
      return await this.#db.transaction().execute((trx) => prepareIn(trx, input, reserve));
    } catch (error) {
      if (!violates(error, 'attempt_message_unique')) throw error;
      const { withdrawalId, n, messageHash } = input;
      const message = `another attempt already has the message of ${withdrawalId}/${n}`;
      throw new DomainError('MessageTaken', message, { withdrawalId, n, messageHash }, error);
    }
  }

  /**
   * Stores the signed bytes, before any of them is sent. The signature that is stored first stays: a later one is never sent. Where a
   * dead attempt has paid the withdrawal nothing is stored: the row comes back without a signature. Throws IllegalTransition for one
   * that was settled without a signature.
   */
  async storeSignature(withdrawalId: string, n: number, signature: string, raw: string): Promise<AttemptRow> {
    return this.#db.transaction().execute(async (trx) => {
      const withdrawal = await lockWithdrawal(trx, withdrawalId);
      const row = await readAttempt(trx, withdrawalId, n);
      if (row.signature !== null || (row.state === 'prepared' && isPaidByDead(withdrawal))) return row;
      if (row.state !== 'prepared') throw illegal(row, 'take a signature');
      return signIn(trx, withdrawal, row, { signature, raw });
    });
  }

  /**
   * Takes the signature under which the message of a living attempt stands on the chain in the place of the one on record, or of none.
   * One that is settled stays as it is.
   */
  async takeFound(withdrawalId: string, n: number, signature: string, raw: string): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      const withdrawal = await lockWithdrawal(trx, withdrawalId);
      const row = await readAttempt(trx, withdrawalId, n);
      if (LIVE.includes(row.state)) await signIn(trx, withdrawal, row, { signature, raw });
    });
  }

  /**
   * Records the verdict and, in the same transaction, what it makes of the withdrawal: `finalized`, `failed` or, for `dead`,
   * `preparing`; one that a dead attempt has paid stays held for that. A repeated or late call changes nothing, so it can never rewind
   * what a later attempt has reached. `landed` and `failed` turn the reservation into what left the wallet in that slot; `dead` keeps it
   * open for the next attempt. Throws IllegalTransition where another verdict is on record, or where another signature was judged.
   */
  async settle(withdrawalId: string, n: number, outcome: AttemptOutcome): Promise<AttemptRow> {
    return this.#db.transaction().execute(async (trx) => {
      const withdrawal = await lockWithdrawal(trx, withdrawalId);
      const row = await readAttempt(trx, withdrawalId, n);
      if (outcome.signature !== undefined && row.signature !== outcome.signature)
        throw illegal(row, `end as ${outcome.signature ?? 'an unsigned one'} did`);
      if (row.state === outcome.state) return row;
      const stored = await trx
        .updateTable('attempt')
        .set({
          state: outcome.state,
          slot: outcome.slot ?? null,
          error: outcome.error ?? null,
          proof: toJson(outcome.proof),
          feeLamports: outcome.feeLamports ?? row.feeLamports,
          rentLamports: outcome.rentLamports ?? row.rentLamports,
        })
        .where('withdrawalId', '=', withdrawalId)
        .where('n', '=', n)
        .where('state', 'in', LIVE)
        .returningAll()
        .executeTakeFirst();
      if (stored === undefined) throw illegal(row, `become ${outcome.state}`);
      await afterSettlement(trx, withdrawal, stored, outcome);
      return stored;
    });
  }

  /** All attempts of a withdrawal, oldest first. */
  async of(withdrawalId: string): Promise<readonly AttemptRow[]> {
    return attemptsOf(this.#db, withdrawalId);
  }

  /** Throws NotFound. */
  async get(withdrawalId: string, n: number): Promise<AttemptRow> {
    return readAttempt(this.#db, withdrawalId, n);
  }

  /** Every attempt that may still land. */
  async live(): Promise<readonly AttemptRow[]> {
    return this.#db
      .selectFrom('attempt')
      .selectAll()
      .where('state', 'in', LIVE)
      .orderBy('createdAt')
      .execute();
  }

  /**
   * Those with a blockhash that nobody signs, at most `limit`: prepared, their withdrawals held because the signer refused, or because
   * a dead attempt has paid them. The oldest first.
   */
  async refused(limit: number): Promise<readonly AttemptRow[]> {
    return this.#db
      .selectFrom('attempt')
      .innerJoin('withdrawal', 'withdrawal.id', 'attempt.withdrawalId')
      .selectAll('attempt')
      .where('attempt.state', '=', 'prepared')
      .where('attempt.nonceAccount', 'is', null)
      .where('withdrawal.status', '=', 'held')
      .where('withdrawal.reasonCode', 'in', ['signing_refused', PAID_BY_DEAD])
      .orderBy('attempt.createdAt')
      .limit(limit)
      .execute();
  }

  async findBySignature(signature: string): Promise<AttemptRow | undefined> {
    return this.#db.selectFrom('attempt').selectAll().where('signature', '=', signature).executeTakeFirst();
  }
}

async function prepareIn(
  trx: Transaction<Tables>,
  input: NewAttempt,
  reserve: ReservationInput,
): Promise<PrepareResult> {
  const { withdrawalId, n } = input;
  const withdrawal = await lockWithdrawal(trx, withdrawalId);
  if (isPaidByDead(withdrawal)) return { kind: 'stopped', reason: withdrawal.reason };
  const { status } = withdrawal;
  const earlier = await attemptsOf(trx, withdrawalId);
  const own = earlier.find((attempt) => attempt.n === n);
  if (own !== undefined) return { kind: 'prepared', attempt: own };
  const open = earlier.find((attempt) => attempt.state !== 'dead');
  if (open !== undefined || n !== earlier.length + 1 || !mayFollow(status, 'preparing')) {
    const why = open === undefined ? `the withdrawal is ${status}` : `attempt ${open.n} is ${open.state}`;
    const message = `attempt ${n} of withdrawal ${withdrawalId} may not be prepared: ${why}`;
    throw new DomainError('IllegalTransition', message, { withdrawalId, n, status });
  }
  const stop = await stopOf(trx, withdrawalId);
  if (stop !== null) return { kind: 'stopped', reason: stop };
  const { nonceAccount } = input;
  if (nonceAccount !== null && !(await lockFreeNonce(trx, nonceAccount, input.blockhash)))
    return { kind: 'nonce_taken' };
  const shortage = await reserveFunds(trx, withdrawalId, reserve);
  if (shortage !== null) return shortage;
  if (nonceAccount !== null) await leaseNonce(trx, nonceAccount, withdrawalId);
  const attempt = await trx
    .insertInto('attempt')
    .values({ ...input, state: 'prepared', generation: GENERATION })
    .returningAll()
    .executeTakeFirstOrThrow();
  await enterStatus(trx, withdrawalId, 'preparing');
  return { kind: 'prepared', attempt };
}

/** Needs the lock on the withdrawal, and that the attempt was seen alive under it. */
async function signIn(
  trx: Transaction<Tables>,
  withdrawal: WithdrawalRow,
  { n, state }: AttemptRow,
  signed: { readonly signature: string; readonly raw: string },
): Promise<AttemptRow> {
  const { id, status } = withdrawal;
  const row = await trx
    .updateTable('attempt')
    .set({ state: 'signed', ...signed })
    .where('withdrawalId', '=', id)
    .where('n', '=', n)
    .returningAll()
    .executeTakeFirstOrThrow();
  const begins = state === 'prepared' && mayFollow(status, 'sending') && !isPaidByDead(withdrawal);
  if (begins) await enterStatus(trx, id, 'sending');
  return row;
}

async function afterSettlement(
  trx: Transaction<Tables>,
  withdrawal: WithdrawalRow,
  settled: AttemptRow,
  { reason, amountReceived }: AttemptOutcome,
): Promise<void> {
  const { id } = withdrawal;
  if (settled.nonceAccount !== null) await returnNonce(trx, settled.nonceAccount, id);
  const isStopped = isPaidByDead(withdrawal);
  if (settled.state === 'dead') {
    if (isStopped) return;
    // The fork that showed it confirmed is gone, and only from `sending` may the next attempt be prepared.
    if (withdrawal.status === 'confirmed') await enterStatus(trx, id, 'sending');
    await enterStatus(trx, id, 'preparing');
    return;
  }
  if (settled.slot === null) throw illegal(settled, 'end in a block without its slot');
  if (settled.state === 'landed') {
    await landReservations(trx, id, settled.slot);
    if (!isStopped) await enterStatus(trx, id, 'finalized', null, amountReceived);
  } else {
    await landFee(trx, id, settled.slot, settled.feeLamports);
    if (!isStopped) await enterStatus(trx, id, 'failed', reason ?? null);
  }
}
