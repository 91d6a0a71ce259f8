import type { Alarm } from '../domain/alerts.ts';
import { type DomainError, isDomainError } from '../domain/errors.ts';
import type { SignedStep } from '../domain/steps.ts';
import { TIMEOUTS } from '../domain/timeouts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { notYet } from './retry-later.ts';

/**
 * What a run does whose signed attempt is not on record: Postgres was restored from before it. All payments pause, and this one
 * waits for the record to come back; it is never composed anew. Every other error passes.
 */
export async function unlessLost<T>(ledger: Ledger, remembered: SignedStep, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    // A kind may miss something else.
    if (!isDomainError(error, 'NotFound') || error.context['settlementId'] !== remembered.id) throw error;
    const alarm = lostAlarm(remembered, error);
    // Once for each record: whoever resumed has been told, and this settlement stays stopped all the same.
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
