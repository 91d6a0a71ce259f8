import { sql } from 'kysely';
import { SigningTimes } from '../../domain/backpressure.ts';
import { DomainError } from '../../domain/errors.ts';
import { isPaidByDead, mayFollow, PAID_BY_DEAD, type StatusReason } from '../../domain/settlement.ts';
import { isUniqueViolation } from '../connection.ts';
import { anyOf, type Database, Repository, type Trx, toJson } from '../database.ts';
import { EPOCH } from '../operations/restore-detection.ts';
import { afterSettlement } from './attempt-end.ts';
import {
  type AttemptOutcome,
  type AttemptRow,
  attemptsOf,
  illegal,
  LIVE,
  readAttempt,
  refuseAnother,
} from './attempt-row.ts';
import { leaseNonce, lockFreeNonce } from './nonces.ts';
import { type ReservationInput, reserveFunds, Short, type Shortage } from './reservations.ts';
import { type EventsByKind, enterStatus, lockSettlement, type SettlementRow } from './settlement-row.ts';
import { stopOf } from './stops.ts';

export type { AttemptOutcome, AttemptRow } from './attempt-row.ts';
export type { ReservationInput } from './reservations.ts';

export type NewAttempt = Omit<
  AttemptRow,
  | 'kind'
  | 'state'
  | 'signatures'
  | 'signature'
  | 'slot'
  | 'error'
  | 'proof'
  | 'generation'
  | 'createdAt'
  | 'endedAt'
  | 'createsAccount'
> & {
  /** Default: false. */
  readonly createsAccount?: boolean;
  /** The buyer's signatures, base58, one for each signer; null where the key is ours. Default: none. */
  readonly signatures?: readonly (string | null)[];
  /** A key of this process has signed it: it may be sent only if the row is stored. */
  readonly isSignedHere?: true;
};

/** `stopped`: this settlement, or every one, may not prepare now. `nonce_taken`: use another nonce account. */
export type PrepareResult =
  | { readonly kind: 'prepared'; readonly attempt: AttemptRow }
  | { readonly kind: 'nonce_taken' }
  | { readonly kind: 'stopped'; readonly reason: StatusReason }
  | Shortage;

/** The transactions of settlements. Every step is idempotent. */
export class Attempts extends Repository {
  readonly #kinds: EventsByKind;
  /** Signing times of the attempts whose signatures this process has stored. */
  readonly signings = new SigningTimes();

  constructor(db: Database, kinds: EventsByKind) {
    super(db);
    this.#kinds = kinds;
  }

  /**
   * Inserts the n-th attempt, reserves its funds and leases its nonce account in one transaction, or returns what is
   * missing or stops it. The row forbids a cancel and any other attempt until this one is proved dead or failed. A
   * stored attempt (id, n) is returned as it is. `reserve`: each wallet once. An attempt that others have signed is
   * only sent and watched: no key of ours signs it, so no pause prevents its row. Throws IllegalTransition, and
   * MessageTaken if another attempt has the same bytes.
   */
  async prepare(input: NewAttempt, reserve: readonly ReservationInput[]): Promise<PrepareResult> {
    try {
      return await this.db.transaction().execute((trx) => prepareIn(trx, this.#kinds, input, reserve));
    } catch (error) {
      if (error instanceof Short) return error.shortage;
      if (!isUniqueViolation(error, 'attempt_message_unique')) throw error;
      const { settlementId, n, messageHash } = input;
      const message = `another attempt already has the message of ${settlementId}/${n}`;
      throw new DomainError('MessageTaken', message, { settlementId, n, messageHash }, error);
    }
  }

  /**
   * Stores the signature of one signer, by default the fee payer. All bytes are stored before the first send, and
   * the first stored signature stays: a later one is never sent. If a dead attempt has paid the settlement, the row
   * is returned unchanged. Throws IllegalTransition if the attempt ended before all had signed.
   */
  async storeSignature(
    settlementId: string,
    n: number,
    signature: string,
    signer?: string,
  ): Promise<AttemptRow> {
    return this.db.transaction().execute(async (trx) => {
      const settlement = await lockSettlement(trx, settlementId);
      const row = await readAttempt(trx, settlementId, n);
      const place = signer === undefined ? 0 : row.signers.indexOf(signer);
      const stored = row.signatures[place];
      if (stored === undefined) throw illegal(row, `be signed by ${signer}, which is none of its signers`);
      if (stored !== null || (row.state === 'prepared' && isPaidByDead(settlement))) return row;
      if (row.state !== 'prepared') throw illegal(row, 'be signed');
      const next = row.signatures.with(place, signature);
      const { row: signed, tookMs } = await signIn(trx, this.#kinds, settlement, row, next);
      if (signed.state === 'signed') this.signings.add(signed.kind, performance.now(), tookMs);
      return signed;
    });
  }

  /**
   * Stores the signatures with which a live attempt's message is on chain. Returns false if it has another
   * signature, unless `isProved`: two nodes or a quorum's block show them. An ended attempt stays as it is.
   */
  async takeFound(
    settlementId: string,
    n: number,
    signatures: readonly string[],
    isProved: boolean,
  ): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      const settlement = await lockSettlement(trx, settlementId);
      const row = await readAttempt(trx, settlementId, n);
      if (!LIVE.includes(row.state)) return true;
      if (row.signature !== null && row.signature !== signatures[0] && !isProved) return false;
      await signIn(trx, this.#kinds, settlement, row, signatures);
      return true;
    });
  }

  /**
   * Stores the verdict and moves the settlement in the same transaction. `landed` leads to `finalized`. `dead`, or a
   * failure that may pass, leads to `preparing`, or to `held` after too many failures, if the next attempt may
   * follow; else to `dead` or `failed`. A settlement that a dead attempt has paid stays held. A repeated or late
   * call changes nothing, so it never undoes what a later attempt has reached. `landed` records the reservation as
   * spent in that slot; the reservation stays open if the next attempt may follow. Throws IllegalTransition if
   * another verdict is stored, or if another signature was judged.
   */
  async settle(settlementId: string, n: number, outcome: AttemptOutcome): Promise<AttemptRow> {
    return this.db.transaction().execute(async (trx) => {
      const settlement = await lockSettlement(trx, settlementId);
      const row = await readAttempt(trx, settlementId, n);
      if (outcome.signature !== undefined && row.signature !== outcome.signature)
        throw illegal(row, `be settled with the outcome of ${outcome.signature ?? 'an unsigned attempt'}`);
      if (row.state === outcome.state) return row;
      const stored = await trx
        .updateTable('attempt')
        .set({
          state: outcome.state,
          slot: outcome.slot ?? null,
          error: outcome.error ?? null,
          proof: toJson(outcome.proof),
          endedAt: sql<Date>`now()`,
          feeLamports: outcome.feeLamports ?? row.feeLamports,
          rentLamports: outcome.rentLamports ?? row.rentLamports,
        })
        .where('settlementId', '=', settlementId)
        .where('n', '=', n)
        .where('state', 'in', LIVE)
        .returningAll()
        .executeTakeFirstOrThrow(() => illegal(row, `become ${outcome.state}`));
      await this.#kinds[settlement.kind]?.ended?.(trx, settlement, stored, outcome);
      await afterSettlement(trx, this.#kinds, settlement, stored, outcome);
      return stored;
    });
  }

  /** Oldest first. */
  async of(settlementId: string): Promise<readonly AttemptRow[]> {
    return attemptsOf(this.db, settlementId);
  }

  /** The newest attempt's signature by settlement, null if unsigned. Omits settlements without an attempt. */
  async newestSignatures(settlementIds: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
    const rows = await this.db
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
  async get(settlementId: string, n: number): Promise<AttemptRow> {
    return readAttempt(this.db, settlementId, n);
  }

  /**
   * Prepared attempts that may be dead although they were never sent: at most `limit`, without the first `skipped`.
   * Either the settlement is held because the signer refused, or because a dead attempt has paid it. Or the attempt
   * is older than a minute with a durable nonce, which an advance may have ended. Or it is older than three minutes:
   * a blockhash expires while a signer is slow. The oldest of each kind come first, then the second oldest of each,
   * so that no kind delays another.
   */
  async unsigned(limit: number, skipped = 0): Promise<readonly AttemptRow[]> {
    return this.db
      .selectFrom('attempt')
      .innerJoin('settlement', 'settlement.id', 'attempt.settlementId')
      .selectAll('attempt')
      .where('attempt.state', '=', 'prepared')
      .where((row) =>
        row.or([
          row.and([
            row('settlement.status', '=', 'held'),
            row('settlement.reasonCode', 'in', ['signing_refused', PAID_BY_DEAD]),
          ]),
          row.and([
            row('attempt.nonceAccount', 'is not', null),
            row('attempt.createdAt', '<', sql<Date>`now() - interval '1 minute'`),
          ]),
          row('attempt.createdAt', '<', sql<Date>`now() - interval '3 minutes'`),
        ]),
      )
      .orderBy(sql`row_number() over (partition by settlement.kind order by attempt.created_at)`)
      .orderBy('attempt.createdAt')
      .orderBy('attempt.settlementId')
      .offset(skipped)
      .limit(limit)
      .execute();
  }
}

async function prepareIn(
  trx: Trx,
  kinds: EventsByKind,
  input: NewAttempt,
  reserve: readonly ReservationInput[],
): Promise<PrepareResult> {
  const { settlementId, n, signers, nonceAccount, bareAdvance } = input;
  const { signatures = signers.map(() => null), isSignedHere = false, ...values } = input;
  const isSigned = !signatures.includes(null);
  const settlement = await lockSettlement(trx, settlementId);
  if (isPaidByDead(settlement)) return { kind: 'stopped', reason: settlement.reason };
  const earlier = await attemptsOf(trx, settlementId);
  const own = earlier.find((attempt) => attempt.n === n);
  if (own !== undefined) return { kind: 'prepared', attempt: own };
  refuseAnother(settlement, input, earlier);
  const stop = isSigned && !isSignedHere ? null : await stopOf(trx, settlement.kind, input);
  if (stop !== null) return { kind: 'stopped', reason: stop };
  const leased = bareAdvance ? null : nonceAccount;
  if (leased !== null && !(await lockFreeNonce(trx, leased, input.blockhash))) return { kind: 'nonce_taken' };
  if (leased !== null) await leaseNonce(trx, leased, settlementId);
  const attempt = await trx
    .insertInto('attempt')
    .values({
      ...values,
      kind: settlement.kind,
      signatures,
      state: isSigned ? 'signed' : 'prepared',
      generation: EPOCH,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await enterStatus(trx, kinds, settlementId, 'preparing');
  if (isSigned) await enterStatus(trx, kinds, settlementId, 'sending');
  // Last: other preparations for these wallets wait from here until the transaction ends.
  if (reserve.length > 0 || earlier.length > 0)
    await reserveFunds(trx, { settlementId, isFirst: earlier.length === 0 }, reserve);
  return { kind: 'prepared', attempt };
}

/** The caller holds the settlement's lock and has seen the attempt live under it. */
async function signIn(
  trx: Trx,
  kinds: EventsByKind,
  settlement: SettlementRow,
  { n, state }: AttemptRow,
  signatures: readonly (string | null)[],
): Promise<{ readonly row: AttemptRow; readonly tookMs: number }> {
  const { id, status } = settlement;
  const isComplete = !signatures.includes(null);
  const { tookMs, ...row } = await trx
    .updateTable('attempt')
    .set({ signatures: sql`${signatures}::text[]`, ...(isComplete ? { state: 'signed' as const } : {}) })
    .where('settlementId', '=', id)
    .where('n', '=', n)
    .returningAll()
    // By the clock that wrote the row.
    .returning(sql<number>`(extract(epoch from clock_timestamp() - created_at) * 1000)::float8`.as('tookMs'))
    .executeTakeFirstOrThrow();
  const begins = isComplete && state === 'prepared' && mayFollow(status, 'sending');
  if (begins && !isPaidByDead(settlement)) await enterStatus(trx, kinds, id, 'sending');
  return { row, tookMs };
}
