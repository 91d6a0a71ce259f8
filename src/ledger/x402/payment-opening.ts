import { sql } from 'kysely';
import type { StatusReason } from '../../domain/settlement.ts';
import { X402 } from '../../domain/settlement-kinds.ts';
import type { TextCipher } from '../../domain/webhook.ts';
import type { Database, Trx } from '../database.ts';
import { type AttemptRow, insertAttempt, isSignedByAll, type NewAttempt } from '../settlements/attempts.ts';
import { stopOf } from '../settlements/stops.ts';
import { type BoughtRequest, isFree, type Lease, type StoredAnswer, timeAfterMs } from './obligations.ts';
import type { StoredPayment } from './payment-row.ts';

/** A payment that has passed all checks, with the request that it pays for. */
export type NewPayment = Pick<
  StoredPayment,
  | 'id'
  | 'seller'
  | 'dialect'
  | 'payer'
  | 'sourceAccount'
  | 'feePayer'
  | 'feeLamports'
  | 'computeUnitLimit'
  | 'computeUnitPriceMicroLamports'
  | 'wire'
  | 'signature'
  | 'acceptedSlot'
  | 'route'
  | 'requestHash'
  | 'terms'
  | 'caller'
> & {
  /** Null if no upstream is called, as for payments of the facilitator. */
  readonly request: BoughtRequest | null;
  /** Name of the key of the facilitator's caller; empty if the facilitator requires no key. */
  readonly facilitatorKey?: string;
  /** Answer of an upstream that was called before settlement, else null. */
  readonly answer: StoredAnswer | null;
  /** True if the upstream is called before the settlement, so that it may have been called once the row exists. */
  readonly isAsked?: boolean;
  readonly lease: Lease;
  /** Hash of the Idempotency-Key of the facilitator's caller. */
  readonly claim?: string | null;
};

/** A payment in whose place an owed payment of the same payer for the same request is served. */
export type ReplacedPayment = Omit<NewPayment, 'request' | 'answer' | 'isAsked' | 'lease' | 'claim'>;

/** A payment that buys no request, with the reason. */
export type UnmatchedPayment = ReplacedPayment & { readonly reason: string };

/** Stores the payment unless it is already stored. */
export async function insertUnmatched(db: Database, input: UnmatchedPayment): Promise<void> {
  await db
    .insertInto('payment')
    .values({ ...withJsonColumns(input), state: 'unmatched' })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/**
 * Stores a payment that is not settled, because `owedId` is served in its place, and leases `owedId` to the server.
 * `lost`: another process serves `owedId`, or it is not owed. `known`: the payment is already stored.
 */
export async function insertReplaced(
  db: Database,
  input: ReplacedPayment,
  owedId: string,
  { holder, ms }: Lease,
): Promise<'replaced' | 'known' | 'lost'> {
  return db.transaction().execute(async (trx) => {
    const owed = await trx
      .selectFrom('payment')
      .select('id')
      .where('id', '=', owedId)
      .where('state', '=', 'owed')
      .where(isFree(holder))
      .forUpdate()
      .executeTakeFirst();
    if (owed === undefined) return 'lost';
    const reason = `not settled: the owed payment ${owedId} for the same request was served in its place`;
    const stored = await trx
      .insertInto('payment')
      .values({ ...withJsonColumns(input), reason, state: 'void', replacedBy: owedId })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (stored === undefined) return 'known';
    const lease = { leaseHolder: holder, leaseUntil: timeAfterMs(ms) };
    await trx.updateTable('payment').set(lease).where('id', '=', owedId).execute();
    return 'replaced';
  });
}

/**
 * Result of opening a payment with its signed attempt. `taken`: the payment is already stored, or another one has its
 * request or its payment identifier. `stopped`: a pause or a restore gap forbids a new attempt. Both store nothing.
 */
export type SignedOpening =
  | { readonly kind: 'opened'; readonly attempt: AttemptRow }
  | { readonly kind: 'taken' }
  | { readonly kind: 'stopped'; readonly reason: StatusReason };

/**
 * Inserts payment, settlement and signed attempt, unless the payment is stored. The lock of preparations is taken before
 * the first insert: a transaction that waited for a row while a pause waits for that lock could wait for ever.
 */
export async function openSignedPayment(
  trx: Trx,
  cipher: TextCipher,
  input: NewPayment,
  attempt: NewAttempt,
): Promise<SignedOpening> {
  if (!isSignedByAll(attempt)) throw new Error(`the attempt of ${input.id} is not signed by all its signers`);
  const reason = await stopOf(trx, X402, attempt);
  if (reason !== null) return { kind: 'stopped', reason };
  const opened = await insertOpening(trx, cipher, input, 'sending').select('id').executeTakeFirst();
  if (opened === undefined) return { kind: 'taken' };
  return { kind: 'opened', attempt: await insertAttempt(trx, X402, attempt) };
}

/**
 * Inserts payment and settlement in one statement. A stored unmatched payment without a settlement is replaced if its
 * buyer submits it. Returns undefined if the payment is already stored otherwise.
 */
export async function openUnsignedPayment(
  db: Database,
  cipher: TextCipher,
  input: NewPayment,
): Promise<StoredPayment | undefined> {
  return insertOpening(db, cipher, input, 'requested').selectAll().executeTakeFirst();
}

function insertOpening(db: Database, cipher: TextCipher, input: NewPayment, status: 'requested' | 'sending') {
  const values = valuesOf(cipher, input);
  // A submitted payment names a token that only its buyer has. The stored one can come from any client, which can have
  // copied the transaction from the chain.
  const replacesUnmatched = input.dialect === 'submitted';
  return db
    .with('opened', (open) =>
      open
        .insertInto('payment')
        .values(values)
        .onConflict((conflict) =>
          replacesUnmatched
            ? conflict.column('id').doUpdateSet(values).where(IS_UNBOUND)
            : conflict.column('id').doNothing(),
        )
        .returningAll(),
    )
    .with('requested', (open) =>
      open
        .insertInto('settlement')
        .columns(['id', 'kind', 'subjectId', 'status'])
        .expression(
          open
            .selectFrom('opened')
            .select((row) => [
              'id',
              row.val(X402).as('kind'),
              row.val(values.id.slice(X402.length + 1)).as('subjectId'),
              row.val(status).as('status'),
            ]),
        )
        .onConflict((conflict) => conflict.column('id').doNothing()),
    )
    .selectFrom('opened');
}

function valuesOf(cipher: TextCipher, input: NewPayment) {
  const { lease, request, answer, isAsked = false, ...row } = input;
  const encrypt = (value: unknown) =>
    value === null ? null : cipher.encrypt(JSON.stringify(value), input.id);
  return {
    ...withJsonColumns(row),
    state: 'settling' as const,
    reason: null,
    request: encrypt(request),
    answer: encrypt(answer),
    answerStatus: answer?.status ?? null,
    askedAt: isAsked ? sql<Date>`now()` : null,
    leaseHolder: lease.holder,
    leaseUntil: timeAfterMs(lease.ms),
  };
}

function withJsonColumns<Row extends Pick<NewPayment, 'terms' | 'caller'>>(row: Row) {
  return { ...row, terms: JSON.stringify(row.terms), caller: JSON.stringify(row.caller) };
}

/** True for a payment that was already on chain when it was submitted and that has no settlement. */
const IS_UNBOUND = sql<boolean>`payment.state = 'unmatched' and payment.received is null`;
