import { type Alarm, WHOLE } from '../domain/alerts.ts';
import type { Gap } from '../ledger/continuity.ts';

/** What people must know of a record that may be an older one. */
export function restoredAlarm({ why, quarantineHeight }: Gap): Alarm {
  const until =
    quarantineHeight === null ? '' : `; nothing is prepared before block height ${quarantineHeight} is final`;
  return { kind: 'record_restored', subject: WHOLE, message: `${why}${until}` };
}

export function unknownSpendAlarm(signature: string, slot: bigint, suspects: readonly string[]): Alarm {
  return {
    kind: 'unknown_spend',
    subject: signature,
    message: `the hot wallet signed ${signature}, and no attempt on record is that: a restored record or a leaked key`,
    details: { signature, slot: slot.toString(), maybePaid: suspects },
  };
}

export function maybePaidAlarm(id: string, signature: string): Alarm {
  const message = `${signature} may have paid it already: cancel it, or close this alert to have it paid`;
  return { kind: 'maybe_paid', subject: id, message, details: { signature } };
}

export function landedThoughDead(id: string, n: number, signature: string, others: readonly string[]): Alarm {
  const beside = others.length === 0 ? 'no later attempt is signed' : `later: ${others.join(', ')}`;
  return {
    kind: 'dead_attempt_landed',
    subject: id,
    message: `attempt ${n} was proved dead, but the chain shows ${signature}; ${beside}`,
    details: { signature, n, others },
  };
}
