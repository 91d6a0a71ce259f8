import { sql } from 'kysely';
import { X402 } from '../../domain/payment.ts';
import type { Seal } from '../../domain/webhook.ts';
import type { Database } from '../database.ts';
import { type BoughtRequest, type Lease, type StoredAnswer, timeAfterMs } from './obligations.ts';
import type { StoredPayment } from './payment-row.ts';

/** A payment that passed all checks, with what it buys. */
export type NewPayment = Pick<
  StoredPayment,
  | 'id'
  | 'seller'
  | 'dialect'
  | 'payer'
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
  /** Null if no upstream is to be called, as for the facilitator. */
  readonly request: BoughtRequest | null;
  /** Set if the upstream was called before the payment. */
  readonly answer: StoredAnswer | null;
  readonly lease: Lease;
};

/** A payment that has bought nothing here, and why. */
export type UnmatchedPayment = Omit<NewPayment, 'request' | 'answer' | 'lease'> & { readonly reason: string };

/** No effect if it is stored already. */
export async function insertUnmatched(db: Database, input: UnmatchedPayment): Promise<void> {
  await db
    .insertInto('payment')
    .values({ ...withJsonColumns(input), state: 'unmatched' })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/**
 * One statement. An unmatched row that is bound to no settlement is replaced by its buyer's payment. Undefined if
 * the payment is stored already.
 */
export async function openPayment(
  db: Database,
  seal: Seal,
  input: NewPayment,
): Promise<StoredPayment | undefined> {
  const values = valuesOf(seal, input);
  // Only its buyer has the token of its memo. Any client may have submitted the bytes before, from the chain.
  const claims = input.dialect === 'submitted';
  return db
    .with('opened', (open) =>
      open
        .insertInto('payment')
        .values(values)
        .onConflict((conflict) =>
          claims
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
              sql<'requested'>`'requested'`.as('status'),
            ]),
        )
        .onConflict((conflict) => conflict.column('id').doNothing()),
    )
    .selectFrom('opened')
    .selectAll()
    .executeTakeFirst();
}

function valuesOf(seal: Seal, input: NewPayment) {
  const { lease, request, answer, ...row } = input;
  const sealed = (value: unknown) => (value === null ? null : seal.seal(JSON.stringify(value), input.id));
  return {
    ...withJsonColumns(row),
    state: 'settling' as const,
    request: sealed(request),
    answer: sealed(answer),
    answerStatus: answer?.status ?? null,
    leaseHolder: lease.holder,
    leaseUntil: timeAfterMs(lease.ms),
  };
}

function withJsonColumns<Row extends Pick<NewPayment, 'terms' | 'caller'>>(row: Row) {
  return { ...row, terms: JSON.stringify(row.terms), caller: JSON.stringify(row.caller) };
}

/** It was on the chain before it was submitted, and no settlement is bound to it. */
const IS_UNBOUND = sql<boolean>`payment.state = 'unmatched' and payment.received is null`;
