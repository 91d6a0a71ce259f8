import type { Alarm } from '../domain/alerts.ts';
import { type DomainError, isDomainError } from '../domain/errors.ts';
import type { SignedStep } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { notYet } from './retry-later.ts';

/**
 * Handles a run whose signed attempt is missing from the database, because PostgreSQL was restored from an older
 * backup. Pauses all payments and makes the run wait for the row; it never composes again. Rethrows every other error.
 */
export async function unlessLost<T>(ledger: Ledger, remembered: SignedStep, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // Another row of the kind may be missing instead.
    if (!isDomainError(error, 'NotFound') || error.context['settlementId'] !== remembered.id) throw error;
    const alarm = lostAlarm(remembered, error);
    // Raised once per database: after an operator resumes payments, this settlement alone stays stopped.
    const told = await ledger.alerts.everRaised(alarm.kind, [remembered.id]);
    if (!told.has(remembered.id)) await ledger.pauses.sound(alarm, remembered.id);
    throw notYet(alarm.kind, alarm.message, TIMEOUTS.operatorLookMs);
  }
}

function lostAlarm({ id, n, signature }: SignedStep, { message }: DomainError): Alarm {
  return {
    kind: 'record_lost',
    subject: id,
    message: `its workflow has signed attempt ${n} as ${signature}, but ${message}: the record was restored from before it`,
    details: { n, signature },
  };
}
