import type { Alarm } from '../domain/alerts.ts';
import { type DomainError, isDomainError } from '../domain/errors.ts';
import type { WithdrawalTerms } from '../domain/withdrawal.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SettlementRow } from '../ledger/settlements.ts';
import { notYet } from './failures.ts';

const RETRY_MS = 15_000;

/** The signed attempt that a run remembers. */
export interface RememberedAttempt {
  readonly id: string;
  readonly n: number;
  readonly signature: string;
}

/**
 * What a run does whose signed attempt is not on record: Postgres was restored from before it. All withdrawals pause, and this one
 * waits for the record to come back; it is never composed anew. Every other error passes.
 */
export async function unlessLost<T>(
  ledger: Ledger,
  remembered: RememberedAttempt,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isDomainError(error, 'NotFound')) throw error;
    const alarm = lostAlarm(remembered, error);
    // Once for each record: whoever resumed has been told, and this withdrawal stays stopped all the same.
    const told = await ledger.alerts.everRaised(alarm.kind, [remembered.id]);
    if (!told.has(remembered.id)) await ledger.pauses.sound(alarm, remembered.id);
    throw notYet(alarm.kind, alarm.message, RETRY_MS);
  }
}

/**
 * The settlement of a withdrawal whose run goes on. Where it is gone, Postgres was restored from before it: then it is taken in again from the
 * run's own terms, and stays stopped until people have looked whether a lost attempt has paid it.
 */
export async function readmitted(ledger: Ledger, terms: WithdrawalTerms): Promise<SettlementRow> {
  const row = await ledger.settlements.find(terms.id);
  if (row !== undefined) return row;
  const message =
    'the record was restored from before it: end it as paid, or close this alert to have it paid';
  // First the alert: what is on record again may be prepared.
  await ledger.alerts.raise({ kind: 'maybe_paid', subject: terms.id, message });
  await ledger.withdrawals.reserve(terms);
  return ledger.settlements.get(terms.id);
}

function lostAlarm({ id, n, signature }: RememberedAttempt, { message }: DomainError): Alarm {
  return {
    kind: 'record_lost',
    subject: id,
    message: `its workflow has signed attempt ${n} as ${signature}, but ${message}: the record was restored from before it`,
    details: { n, signature },
  };
}
