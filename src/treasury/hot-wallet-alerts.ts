import { type Alarm, WHOLE_SYSTEM } from '../domain/alerts.ts';
import type { Gap } from '../ledger/operations/continuity.ts';
import type { LostNonceRow } from '../ledger/settlements/nonces.ts';

/** Alert about a restored database. `lost`: nonces that must be used up before payments continue. */
export function restoredAlarm({ reason, quarantineHeight }: Gap, lost: readonly LostNonceRow[]): Alarm {
  const until =
    quarantineHeight === null
      ? ''
      : `; no attempt is prepared before block height ${quarantineHeight} is final`;
  const addresses = lost.map(({ address }) => address);
  const nonces =
    addresses.length === 0
      ? ''
      : `, and before the nonces of ${addresses.length} accounts are advanced (first: ${addresses[0]}). Sluice advances those of the current hot wallet`;
  return {
    kind: 'record_restored',
    subject: WHOLE_SYSTEM,
    message: `${reason}${until}${nonces}`,
    details: { nonceAccounts: addresses },
  };
}

/** `suspects`: withdrawals that the transaction may have paid. Null while they are unknown. */
export function unknownSpendAlarm(
  wallet: string,
  signature: string,
  slot: bigint,
  suspects: readonly string[] | null,
): Alarm {
  return {
    kind: 'unknown_spend',
    subject: signature,
    message: `wallet ${wallet} signed ${signature}, but no recorded attempt has this signature: the database was restored, or the key leaked`,
    details: { signature, slot: slot.toString(), maybePaid: suspects },
  };
}

/** Without the fee payer's history, a leak of its key stays undetected. */
export function unreadAlarm(wallet: string, reason: string): Alarm {
  const message = `the transactions of fee payer ${wallet} cannot be checked now: ${reason}`;
  return { kind: 'fee_payer_unread', subject: wallet, message };
}

/** A spend that only the scan has seen. Operators check whether it is real. */
export function unprovedSpendAlarm(wallet: string, signature: string, slot: bigint): Alarm {
  return {
    kind: 'unknown_spend',
    subject: signature,
    message: `The scan saw wallet ${wallet} sign ${signature} in slot ${slot}. No open or landed attempt has this signature, and too few nodes return the transaction. Check ${signature} with another node.`,
    details: { signature, slot: slot.toString(), maybePaid: [] },
  };
}

export function maybePaidAlarm(
  { id, ended }: { readonly id: string; readonly ended: boolean },
  signature: string,
): Alarm {
  const message = ended
    ? `${signature} may have paid it, although it ended as unpaid: investigate before you refund the customer, then close this alert`
    : `${signature} may have paid it already: end it as paid, or close this alert so that Sluice pays it`;
  return { kind: 'maybe_paid', subject: id, message, details: { signature } };
}

/**
 * An attempt recorded as dead or failed has landed, by these nodes. `others`: the signatures of later attempts.
 */
export function landedThoughDead(
  id: string,
  n: number,
  signature: string,
  shownBy: readonly string[],
  others: readonly string[],
): Alarm {
  const beside = others.length === 0 ? 'no later attempt is signed' : `later attempts: ${others.join(', ')}`;
  return {
    kind: 'dead_attempt_landed',
    subject: id,
    message: `attempt ${n} is recorded as dead or failed, but it has landed as ${signature}; returned by: ${shownBy.join(', ')}; ${beside}`,
    details: { signature, n, shownBy, others },
  };
}

/** A node lists a transaction that too few nodes confirm. It delays payments if too few other nodes answer. */
export function unprovedListingAlarm(
  wallet: string,
  nodes: readonly string[],
  unproven: ReadonlySet<string>,
): Alarm {
  const [signature] = unproven;
  const message = `${wallet}'s history on ${nodes.join(', ')} contains ${signature}, which too few other nodes confirm. Check ${signature} with another provider and remove the node that is wrong.`;
  return { kind: 'listing_unproved', subject: wallet, message, details: { nodes, signature } };
}
