import { sql } from 'kysely';
import type { OperatorNote } from '../../domain/operator-note.ts';
import { Repository, type RowOf } from '../database.ts';
import type { PaymentRow } from './payments.ts';

/** An access pass as it is stored, with the payment that bought it. */
export interface AccessPass {
  readonly payment: Pick<PaymentRow, 'id' | 'payer' | 'route' | 'terms'>;
  /** Path of the paid request, without its query. */
  readonly path: string;
  readonly issuedAt: Date;
  readonly expiresAt: Date;
  readonly isRevoked: boolean;
  /** False if the payment has not landed any more, or if too little was received. */
  readonly isPaid: boolean;
}

export type PassRevocation = Pick<RowOf<'passRevocation'>, 'actor' | 'reason' | 'revokedAt'>;

/** SQL that is true if the payment was served, is on chain, and has its price. */
const IS_PAID = sql<boolean>`(payment.state = 'served' and coalesce(settlement.status, '') in ('confirmed', 'finalized')
  and coalesce(payment.received >= (payment.terms ->> 'amount')::numeric, true))`;
const IS_REVOKED = sql<boolean>`(pass_revocation.payment_id is not null)`;

/** Access passes: one for each payment, from service on. A revocation also applies to a pass that is issued later. */
export class AccessPasses extends Repository {
  /**
   * Stores the pass of a served payment, unless it has one. It ends `seconds` after service, however late it is issued,
   * so that a repeated request does not extend it. Null if the payment is not served.
   */
  async issue(paymentId: string, path: string, seconds: number): Promise<AccessPass | null> {
    const expiresAt = sql<Date>`served_at + ${seconds} * interval '1 second'`;
    await this.db
      .insertInto('accessPass')
      .columns(['paymentId', 'payer', 'route', 'path', 'expiresAt'])
      .expression((row) =>
        row
          .selectFrom('payment')
          .select(['id', 'payer', 'route', sql<string>`${path}::text`.as('path'), expiresAt.as('expiresAt')])
          .where('id', '=', paymentId)
          .where('state', '=', 'served')
          .where('seller', '=', 'gateway')
          .where(expiresAt, '>', sql<Date>`now()`),
      )
      .onConflict((conflict) => conflict.column('paymentId').doNothing())
      .execute();
    return this.find(paymentId);
  }

  /** The pass of a payment; null if it has none. */
  async find(paymentId: string): Promise<AccessPass | null> {
    const row = await this.#all().where('accessPass.paymentId', '=', paymentId).executeTakeFirst();
    return row === undefined ? null : toAccessPass(row);
  }

  /** A pass that this payer has bought for this path of the route, and that is valid now; null if there is none. */
  async findValid(payer: string, route: string, path: string): Promise<AccessPass | null> {
    const row = await this.#all()
      .where('accessPass.payer', '=', payer)
      .where('accessPass.route', '=', route)
      .where('accessPass.path', '=', path)
      .where('accessPass.expiresAt', '>', sql<Date>`now()`)
      .where(IS_PAID)
      .where(sql<boolean>`not ${IS_REVOKED}`)
      .orderBy('accessPass.expiresAt', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row === undefined ? null : toAccessPass(row);
  }

  /** Revokes the pass of a payment for good. False if it was revoked before. */
  async revoke(paymentId: string, { actor, reason }: OperatorNote): Promise<boolean> {
    const revoked = await this.db
      .insertInto('passRevocation')
      .values({ paymentId, actor, reason })
      .onConflict((conflict) => conflict.column('paymentId').doNothing())
      .returning('paymentId')
      .executeTakeFirst();
    return revoked !== undefined;
  }

  /** The revocation of a payment's pass; null if there is none. */
  async revocationOf(paymentId: string): Promise<PassRevocation | null> {
    const revocation = this.db
      .selectFrom('passRevocation')
      .select(['actor', 'reason', 'revokedAt'])
      .where('paymentId', '=', paymentId);
    return (await revocation.executeTakeFirst()) ?? null;
  }

  #all() {
    return this.db
      .selectFrom('accessPass')
      .innerJoin('payment', 'payment.id', 'accessPass.paymentId')
      .leftJoin('settlement', 'settlement.id', 'accessPass.paymentId')
      .leftJoin('passRevocation', 'passRevocation.paymentId', 'accessPass.paymentId')
      .select(['payment.id', 'payment.payer', 'payment.route', 'payment.terms'])
      .select(['accessPass.path', 'accessPass.issuedAt', 'accessPass.expiresAt'])
      .select([IS_PAID.as('isPaid'), IS_REVOKED.as('isRevoked')]);
  }
}

function toAccessPass({
  id,
  payer,
  route,
  terms,
  ...row
}: Omit<AccessPass, 'payment'> & AccessPass['payment']): AccessPass {
  return { payment: { id, payer, route, terms }, ...row };
}
