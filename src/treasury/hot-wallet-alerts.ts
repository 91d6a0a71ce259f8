import { type Alarm, WHOLE_SYSTEM } from '../domain/alerts.ts';
import type { RestoreGap } from '../ledger/operations/continuity.ts';
import type { LostNonceRow } from '../ledger/settlements/nonces.ts';
import type { UnpaidWithdrawal } from '../ledger/withdrawals/withdrawals.ts';

/** Alert about a restored database. `lost`: nonces that must be used up before payments continue. */
export function restoredAlarm(
  { reason, quarantineHeight }: RestoreGap,
  lost: readonly LostNonceRow[],
): Alarm {
  const addresses = lost.map(({ address }) => address);
  const conditions = [
    ...(quarantineHeight === null ? [] : [`block height ${quarantineHeight} is final`]),
    ...(addresses.length === 0
      ? []
      : [`the nonces of ${addresses.length} accounts are advanced (first: ${addresses[0]})`]),
  ];
  const until = conditions.length === 0 ? '' : `; no attempt is prepared before ${conditions.join(' and ')}`;
  const nonces = addresses.length === 0 ? '' : '. Sluice advances the nonces of the current hot wallet';
  return {
    kind: 'database_restored',
    subject: WHOLE_SYSTEM,
    message: `${reason}${until}${nonces}`,
    details: { nonceAccounts: addresses },
  };
}

/**
 * Alert about a transaction of our wallet without a recorded attempt. `suspects`: withdrawals that the transaction
 * may have paid; null before they are known.
 */
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

/** Alert about a fee payer whose history cannot be read: a leak of its key would stay undetected. */
export function unreadAlarm(wallet: string, reason: string): Alarm {
  const message = `the transactions of fee payer ${wallet} cannot be checked now: ${reason}`;
  return { kind: 'fee_payer_unread', subject: wallet, message };
}

/** Alert about a transaction of our wallet that only the scan found. An operator must check whether it is real. */
export function unprovedSpendAlarm(wallet: string, signature: string, slot: bigint): Alarm {
  return {
    kind: 'unknown_spend',
    subject: signature,
    message: `the scan found transaction ${signature} in slot ${slot}, signed by wallet ${wallet}. No live or landed attempt has this signature, and too few nodes return the transaction. Check ${signature} with another node.`,
    details: { signature, slot: slot.toString(), maybePaid: [] },
  };
}

export function maybePaidAlarm(
  { id, hasEnded }: Pick<UnpaidWithdrawal, 'id' | 'hasEnded'>,
  signature: string,
): Alarm {
  const message = hasEnded
    ? `transaction ${signature} may have paid withdrawal ${id}, although the withdrawal ended as unpaid: investigate before you refund the customer, then close this alert`
    : `transaction ${signature} may have paid withdrawal ${id} already: end the withdrawal as paid, or close this alert so that Sluice pays it`;
  return { kind: 'maybe_paid', subject: id, message, details: { signature } };
}

/** An attempt that has landed although it is recorded as dead or failed. */
export interface LandedDeadAttempt {
  readonly settlementId: string;
  readonly n: number;
  readonly signature: string;
  /** Names of the nodes that return the transaction. */
  readonly shownBy: readonly string[];
  /** Signatures of later attempts. */
  readonly others: readonly string[];
}

export function deadAttemptLandedAlarm(attempt: LandedDeadAttempt): Alarm {
  const { settlementId: id, n, signature, shownBy, others } = attempt;
  const laterAttempts =
    others.length === 0 ? 'no later attempt is signed' : `later attempts: ${others.join(', ')}`;
  return {
    kind: 'dead_attempt_landed',
    subject: id,
    message: `attempt ${n} of settlement ${id} is recorded as dead or failed, but it has landed with signature ${signature}; returned by: ${shownBy.join(', ')}; ${laterAttempts}`,
    details: { signature, n, shownBy, others },
  };
}

/**
 * Alert about nodes that list a transaction which too few other nodes confirm. Their listings do not count, so
 * payments wait if too few other nodes answer.
 */
export function unprovedListingAlarm(
  wallet: string,
  nodes: readonly string[],
  unprovenSignatures: ReadonlySet<string>,
): Alarm {
  const [signature] = unprovenSignatures;
  const message = `the history of wallet ${wallet} on ${nodes.join(', ')} contains transaction ${signature}, which too few other nodes confirm. Check ${signature} with another provider and remove the node that is wrong.`;
  return { kind: 'listing_unproved', subject: wallet, message, details: { nodes, signature } };
}
