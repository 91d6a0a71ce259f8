import type { AttemptFacts, AttemptVerdict, Evidence, StatusObservation } from '../../domain/attempt.ts';
import { judgeAttempt } from './judge.ts';

/** An attempt without a stored signature. Any signature for it covers this message. */
export type UnsignedFacts = Omit<AttemptFacts, 'signature'> & {
  /** Hex SHA-256 of the message. */
  readonly messageHash: string;
};

/** A finalized transaction that names the wallet. `messageHash` is null if no node returns its bytes. */
export interface WalletEntry {
  readonly signature: string;
  readonly slot: bigint;
  readonly messageHash: string | null;
}

/**
 * Answers "may we sign again?" for an attempt whose signature is not known, although one may exist. The rule is that
 * of {@link judgeAttempt} with the message hash as signature. `coverage` states whether the linked blocks contain the
 * message; `statuses` come from each node's history of the wallet. Never `landed`: without bytes no outcome can be
 * requested.
 */
export function judgeUnsigned(attempt: UnsignedFacts, evidence: Evidence): AttemptVerdict {
  return judgeAttempt(
    { ...attempt, signature: attempt.messageHash },
    { ...evidence, outcomeConfirmedBy: [] },
  );
}

/** One node's history of the wallet, from block `historyFrom` up to the finalized slot `atSlot`. */
export interface WalletHistory {
  readonly entries: readonly WalletEntry[];
  readonly historyFrom: bigint | null;
  readonly atSlot: bigint;
}

/** A node's history of the wallet as a status of the message. One entry without bytes makes it `unreadable`. */
export function observationOfMessage(
  messageHash: string,
  { entries, historyFrom, atSlot }: WalletHistory,
): StatusObservation {
  const found = entries.find((entry) => entry.messageHash === messageHash);
  if (found !== undefined)
    return { kind: 'seen', commitment: 'finalized', slot: found.slot, error: null, atSlot };
  const hidden = entries.find((entry) => entry.messageHash === null);
  return hidden === undefined
    ? { kind: 'absent', atSlot, historyFrom }
    : { kind: 'unreadable', reason: `no node shows the transaction ${hidden.signature} of the wallet` };
}
