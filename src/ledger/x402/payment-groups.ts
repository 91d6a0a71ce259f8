import { sql } from 'kysely';
import { PAYMENT_EVENTS } from '../../domain/payment.ts';
import type { SettlementStatus } from '../../domain/settlement.ts';
import { X402 } from '../../domain/settlement-kinds.ts';
import { anyOf, type Trx, toJson } from '../database.ts';
import { closeAlerts } from '../operations/alerts.ts';
import type { AttemptRow } from '../settlements/attempt-row.ts';
import { CONFIRMATION_REVERTED } from '../settlements/settlement-row.ts';
import type { AttemptLanding, KindGroups } from '../settlements/together.ts';

/**
 * The usual changes of x402 settlements. Their results are those of `Settlements.note` and `Attempts.settle`, which make
 * every other change: test/ledger/x402/payment-groups.test.ts compares both.
 */
export const paymentGroups: KindGroups = {
  confirm: async (trx, ids) => new Set(await confirmPayments(trx, await lockFree(trx, ids, ['sending']))),
  land: async (trx, landings) => {
    const ids = landings.map(({ settlementId }) => settlementId);
    const landed = await landPayments(trx, landings, await lockFree(trx, ids, ['sending', 'confirmed']));
    const landedIds = anyOf(landed.map(({ settlementId }) => settlementId));
    await closeAlerts(trx, (row) =>
      row.and([row('kind', '=', CONFIRMATION_REVERTED), row('subject', '=', landedIds)]),
    );
    return new Map(landed.map((attempt) => [attempt.settlementId, attempt]));
  },
};

/** Locks and returns the settlements in these statuses, without those that another transaction has locked. */
async function lockFree(
  trx: Trx,
  ids: readonly string[],
  statuses: readonly SettlementStatus[],
): Promise<readonly string[]> {
  const rows = await trx
    .selectFrom('settlement')
    .select('id')
    .where('id', '=', anyOf(ids))
    .where('kind', '=', X402)
    .where('status', 'in', statuses)
    .forUpdate()
    .skipLocked()
    .execute();
  return rows.map(({ id }) => id);
}

const { paid } = PAYMENT_EVENTS;

/**
 * Returns the ids of the settlements that are confirmed now: those with a signed attempt. The scalar subquery is one
 * lookup by key for each settlement; a join could read all signed attempts.
 */
async function confirmPayments(trx: Trx, locked: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly id: string }>`
    with confirmed as (
      update settlement set status = 'confirmed', was_confirmed = true, reason_code = null, reason_message = null,
        updated_at = now()
      where id = any(${locked}::text[])
        and (select true from attempt where settlement_id = settlement.id and state = 'signed' limit 1)
      returning id
    ), paid as (
      update payment set state = ${paid.to}, paid_at = now()
      where id = any(array(select id from confirmed)) and state = any(${paid.from}::text[])
    )
    select id from confirmed`.execute(trx);
  return rows.map(({ id }) => id);
}

/** Returns the attempts that are landed now: signed, with the signature that was judged, and fully paid. */
async function landPayments(
  trx: Trx,
  landings: readonly AttemptLanding[],
  locked: readonly string[],
): Promise<readonly AttemptRow[]> {
  const column = (read: (landing: AttemptLanding) => unknown) =>
    landings.map((landing) => read(landing) ?? null);
  const { rows } = await sql<AttemptRow>`
    with landing as (
      select * from unnest(
        ${column(({ settlementId }) => settlementId)}::text[], ${column(({ n }) => n)}::integer[],
        ${column(({ signature }) => signature)}::text[], ${column(({ slot }) => slot)}::bigint[],
        ${column(({ amountReceived }) => amountReceived)}::numeric[],
        ${column(({ feeLamports }) => feeLamports)}::bigint[],
        ${column(({ rentLamports }) => rentLamports)}::bigint[], ${column(({ proof }) => toJson(proof))}::text[]
      ) as landing (id, n, signature, slot, received, fee_lamports, rent_lamports, proof)
      where id = any(${locked}::text[])
    ), landed as (
      update attempt set state = 'landed', slot = landing.slot, error = null, proof = landing.proof::jsonb,
        ended_at = now(), fee_lamports = coalesce(landing.fee_lamports, attempt.fee_lamports),
        rent_lamports = coalesce(landing.rent_lamports, attempt.rent_lamports)
      from landing
      where attempt.settlement_id = landing.id and attempt.n = landing.n and attempt.state = 'signed'
        and attempt.signature = landing.signature and attempt.nonce_account is null
        and landing.received >= (select (terms ->> 'amount')::numeric from payment where payment.id = landing.id)
      returning attempt.*
    ), finalized as (
      update settlement set status = 'finalized', reason_code = null, reason_message = null, updated_at = now()
      where id = any(array(select settlement_id from landed))
    ), received as (
      update payment set received = landing.received, settled_at = now(),
        state = case when state = any(${paid.from}::text[]) then ${paid.to} else state end,
        paid_at = case when state = any(${paid.from}::text[]) then now() else paid_at end
      from landing
      where payment.id = landing.id and payment.id = any(array(select settlement_id from landed))
    )
    select * from landed`.execute(trx);
  return rows;
}
