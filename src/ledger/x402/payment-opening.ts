import { sql } from 'kysely';
import { X402 } from '../../domain/payment.ts';
import type { Seal } from '../../domain/webhook.ts';
import type { Database } from '../database.ts';
import { type BoughtRequest, inMs, type Lease, type StoredAnswer } from './obligations.ts';
import type { PaymentRow, StoredPayment } from './payment-row.ts';
import type { Caller, PaymentTerms } from './payment-tables.ts';

/** A payment that passed all checks, with what it buys. */
export type NewPayment = Pick<
  PaymentRow,
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
> & {
  readonly terms: PaymentTerms;
  readonly caller: Caller;
  /** Null if no upstream is to be called, as for the facilitator. */
  readonly request: BoughtRequest | null;
  /** Set if the upstream was called before the payment. */
  readonly answer: StoredAnswer | null;
  /** The process that serves it, and for how long no other may. */
  readonly lease: Lease;
};

/**
 * One statement. An unmatched row that is bound to no settlement is replaced by its buyer's payment. Undefined if
 * the payment is stored already.
 */
export async function putPayment(
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
            ? conflict.column('id').doUpdateSet(values).where(UNBOUND)
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
              row.val(subjectOf(values.id)).as('subjectId'),
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
    ...row,
    state: 'settling' as const,
    terms: JSON.stringify(row.terms),
    caller: JSON.stringify(row.caller),
    request: sealed(request),
    answer: sealed(answer),
    answerStatus: answer?.status ?? null,
    leaseHolder: lease.holder,
    leaseUntil: inMs(lease.ms),
  };
}

/** It was on the chain before it was submitted, and no settlement is bound to it. */
const UNBOUND = sql<boolean>`payment.state = 'unmatched' and payment.received is null`;

function subjectOf(id: string): string {
  return id.slice(X402.length + 1);
}
