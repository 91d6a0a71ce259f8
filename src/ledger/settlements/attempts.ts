import { sql } from 'kysely';
import { SigningTimes } from '../../domain/backpressure.ts';
import { DomainError } from '../../domain/errors.ts';
import { isPaidByDead, PAID_BY_DEAD, type StatusReason } from '../../domain/settlement.ts';
import { kindOfSettlement } from '../../domain/settlement-kinds.ts';
import { isUniqueViolation } from '../connection.ts';
import { anyOf, type Database, Repository, type Trx, toJson } from '../database.ts';
import { EPOCH } from '../operations/restore-detection.ts';
import { moveAfterAttempt } from './attempt-end.ts';
import {
  type AttemptOutcome,
  type AttemptRow,
  attemptsOf,
  illegalTransition,
  LIVE_STATES,
  readAttempt,
  refuseUnlessNext,
} from './attempt-row.ts';
import { storeSignatures } from './attempt-signatures.ts';
import { leaseNonce, lockFreeNonce } from './nonces.ts';
import { type ReservationInput, reserveFunds, type Shortage, ShortageError } from './reservations.ts';
import { type EventsByKind, enterStatus, lockSettlement } from './settlement-row.ts';
import { stopOf } from './stops.ts';
import { type Together, togetherByKind } from './together.ts';

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
  | 'epoch'
  | 'createdAt'
  | 'endedAt'
  | 'createsAccount'
> & {
  /** Default: false. */
  readonly createsAccount?: boolean;
  /** The buyer's signatures, base58, one for each signer; null where the key is ours. Default: none. */
  readonly signatures?: readonly (string | null)[];
  /** True if this process signed the attempt: it must not be sent unless the row is stored. */
  readonly isSignedHere?: true;
};

/** `stopped`: no attempt of this settlement can be prepared now. `nonce_taken`: use another nonce account. */
export type PrepareResult =
  | { readonly kind: 'prepared'; readonly attempt: AttemptRow }
  | { readonly kind: 'nonce_taken' }
  | { readonly kind: 'stopped'; readonly reason: StatusReason }
  | Shortage;

/** The transactions of settlements. Every step is idempotent. */
export class Attempts extends Repository {
  readonly #eventsByKind: EventsByKind;
  readonly #together: ReadonlyMap<string, Together>;
  /** Signing times of attempts whose signatures this process stored. */
  readonly signings = new SigningTimes();

  constructor(db: Database, eventsByKind: EventsByKind) {
    super(db);
    this.#eventsByKind = eventsByKind;
    this.#together = togetherByKind(db, eventsByKind);
  }

  /**
   * Inserts the n-th attempt, reserves its funds and leases its nonce account in one transaction, or returns what
   * prevents that. While the row is live, the settlement can have no other attempt and no cancellation. A stored
   * attempt (id, n) is returned unchanged. `reserve` has each wallet at most once. An attempt that other parties
   * signed completely is only sent and watched, so a pause does not prevent its row. Throws IllegalTransition, and
   * MessageTaken if another attempt has the same message.
   */
  async prepare(input: NewAttempt, reserve: readonly ReservationInput[]): Promise<PrepareResult> {
    try {
      return await this.db.transaction().execute((trx) => prepareIn(trx, this.#eventsByKind, input, reserve));
    } catch (error) {
      if (error instanceof ShortageError) return error.shortage;
      if (!isUniqueViolation(error, 'attempt_message_unique')) throw error;
      const { settlementId, n, messageHash } = input;
      const message = `another attempt already has the message of attempt ${settlementId}/${n}`;
      throw new DomainError('MessageTaken', message, { settlementId, n, messageHash }, error);
    }
  }

  /**
   * Stores the signature of one signer, by default of the fee payer. All bytes are stored before they are first sent.
   * The first stored signature is final: a later one is never sent. The row is returned unchanged if a dead attempt
   * has paid the settlement. Throws IllegalTransition if the attempt ended before all signers had signed.
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
      const signerIndex = signer === undefined ? 0 : row.signers.indexOf(signer);
      const stored = row.signatures[signerIndex];
      if (stored === undefined)
        throw illegalTransition(row, `be signed by ${signer}, which is not one of its signers`);
      if (stored !== null || (row.state === 'prepared' && isPaidByDead(settlement))) return row;
      if (row.state !== 'prepared') throw illegalTransition(row, 'be signed');
      const next = row.signatures.with(signerIndex, signature);
      const { row: signed, tookMs } = await storeSignatures(trx, this.#eventsByKind, settlement, row, next);
      if (signed.state === 'signed') this.signings.add(signed.kind, performance.now(), tookMs);
      return signed;
    });
  }

  /**
   * Stores the signatures under which the message of a live attempt is on chain. Returns false without effect if a
   * different signature is stored, unless `isProved`: two nodes return the new one, or a block on which a quorum
   * agrees contains it. An ended attempt is not changed.
   */
  async storeFoundSignatures(
    settlementId: string,
    n: number,
    signatures: readonly string[],
    isProved: boolean,
  ): Promise<boolean> {
    return this.db.transaction().execute(async (trx) => {
      const settlement = await lockSettlement(trx, settlementId);
      const row = await readAttempt(trx, settlementId, n);
      if (!LIVE_STATES.includes(row.state)) return true;
      if (row.signature !== null && row.signature !== signatures[0] && !isProved) return false;
      await storeSignatures(trx, this.#eventsByKind, settlement, row, signatures);
      return true;
    });
  }

  /**
   * Stores the verdict and moves the settlement in the same transaction. `landed` leads to `finalized` and records
   * the reservation as spent in that slot. If another attempt can follow, `dead` or a temporary failure leads to
   * `preparing`, or to `held` after too many failures, and the reservation stays open. Otherwise it leads to `dead`
   * or `failed`. A settlement that a dead attempt has paid stays held. A repeated or late call changes nothing.
   * Throws IllegalTransition if a different verdict is stored, or if another signature was judged.
   */
  async settle(settlementId: string, n: number, outcome: AttemptOutcome): Promise<AttemptRow> {
    const landed = await this.#together.get(kindOfSettlement(settlementId))?.land(settlementId, n, outcome);
    if (landed !== undefined) return landed;
    return this.db.transaction().execute(async (trx) => {
      const settlement = await lockSettlement(trx, settlementId);
      const row = await readAttempt(trx, settlementId, n);
      if (outcome.signature !== undefined && row.signature !== outcome.signature)
        throw illegalTransition(
          row,
          `be settled with the outcome of ${outcome.signature ?? 'an unsigned attempt'}`,
        );
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
        .where('state', 'in', LIVE_STATES)
        .returningAll()
        .executeTakeFirstOrThrow(() => illegalTransition(row, `become ${outcome.state}`));
      await this.#eventsByKind[settlement.kind]?.ended?.(trx, settlement, stored, outcome);
      await moveAfterAttempt(trx, this.#eventsByKind, settlement, stored, outcome);
      return stored;
    });
  }

  /** Oldest first. */
  async of(settlementId: string): Promise<readonly AttemptRow[]> {
    return attemptsOf(this.db, settlementId);
  }

  /**
   * Signature of each settlement's newest attempt, by settlement id; null if unsigned. Omits settlements without an
   * attempt.
   */
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
   * Prepared attempts that can have expired unsigned: at most `limit`, without the first `skipCount`. An attempt is
   * included in three cases:
   * - its settlement is held because the signer refused, or because a dead attempt has paid;
   * - it is older than a minute and uses a durable nonce, which can have been advanced;
   * - it is older than three minutes, so its blockhash can have expired.
   * The oldest attempt of each kind comes first, then the second oldest of each, so that no kind delays another.
   */
  async listUnsigned(limit: number, skipCount = 0): Promise<readonly AttemptRow[]> {
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
      .offset(skipCount)
      .limit(limit)
      .execute();
  }
}

async function prepareIn(
  trx: Trx,
  eventsByKind: EventsByKind,
  input: NewAttempt,
  reserve: readonly ReservationInput[],
): Promise<PrepareResult> {
  const { settlementId, n, nonceAccount, bareAdvance, isSignedHere = false } = input;
  const isSigned = isSignedByAll(input);
  const settlement = await lockSettlement(trx, settlementId);
  if (isPaidByDead(settlement)) return { kind: 'stopped', reason: settlement.reason };
  const earlier = await attemptsOf(trx, settlementId);
  const own = earlier.find((attempt) => attempt.n === n);
  if (own !== undefined) return { kind: 'prepared', attempt: own };
  refuseUnlessNext(settlement, input, earlier);
  const stop = isSigned && !isSignedHere ? null : await stopOf(trx, settlement.kind, input);
  if (stop !== null) return { kind: 'stopped', reason: stop };
  const leased = bareAdvance ? null : nonceAccount;
  if (leased !== null && !(await lockFreeNonce(trx, leased, input.blockhash))) return { kind: 'nonce_taken' };
  if (leased !== null) await leaseNonce(trx, leased, settlementId);
  const attempt = await insertAttempt(trx, settlement.kind, input);
  await enterStatus(trx, eventsByKind, settlementId, 'preparing');
  if (isSigned) await enterStatus(trx, eventsByKind, settlementId, 'sending');
  // Reserve last: from here on, other preparations for these wallets wait until the transaction ends.
  if (reserve.length > 0 || earlier.length > 0)
    await reserveFunds(trx, { settlementId, isFirst: earlier.length === 0 }, reserve);
  return { kind: 'prepared', attempt };
}

/** True if no signature is missing. */
export function isSignedByAll({ signers, signatures = signers.map(() => null) }: NewAttempt): boolean {
  return !signatures.includes(null);
}

/** Inserts the row in the state that its signatures imply. */
export async function insertAttempt(trx: Trx, kind: string, input: NewAttempt): Promise<AttemptRow> {
  const { signatures = input.signers.map(() => null), isSignedHere: _isSignedHere, ...values } = input;
  const state = isSignedByAll(input) ? ('signed' as const) : ('prepared' as const);
  return trx
    .insertInto('attempt')
    .values({ ...values, kind, signatures, state, epoch: EPOCH })
    .returningAll()
    .executeTakeFirstOrThrow();
}
