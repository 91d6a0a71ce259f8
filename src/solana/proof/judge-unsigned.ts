import type { AttemptFacts, Evidence, Sighting, Verdict } from '../../domain/attempt.ts';
import { judgeAttempt } from './judge.ts';

/** An attempt of which no signature is on record. Whoever signs it, what he sends has this message. */
export type UnsignedFacts = Omit<AttemptFacts, 'signature'> & {
  /** Hex sha256 of the message. */
  readonly messageHash: string;
};

/** A finalized transaction that names the wallet, in the life of the attempt; `messageHash` null where no node shows its bytes. */
export interface WalletEntry {
  readonly signature: string;
  readonly slot: bigint;
  readonly messageHash: string | null;
}

/**
 * Answers "may we sign again?" for an attempt whose signature is not known, although somebody may have made one. The rule is that of
 * {@link judgeAttempt} with the message in the place of the signature: `coverage` tells whether a transaction in the linked
 * blocks has it, `statuses` what each node's history of the wallet says of it. Never `landed`: without bytes no outcome is asked for.
 */
export function judgeUnsigned(attempt: UnsignedFacts, evidence: Evidence): Verdict {
  return judgeAttempt(
    { ...attempt, signature: attempt.messageHash },
    { ...evidence, outcomeConfirmedBy: [] },
  );
}

/** A node's history of the wallet: from which block on, and up to which finalized slot. */
export interface WalletHistory {
  readonly entries: readonly WalletEntry[];
  readonly historyFrom: bigint | null;
  readonly atSlot: bigint;
}

/** What a node's whole history of the wallet says of a message. One entry whose bytes nobody shows leaves it open. */
export function sightingOfMessage(
  messageHash: string,
  { entries, historyFrom, atSlot }: WalletHistory,
): Sighting {
  const found = entries.find((entry) => entry.messageHash === messageHash);
  if (found !== undefined)
    return { kind: 'seen', commitment: 'finalized', slot: found.slot, error: null, atSlot };
  const hidden = entries.find((entry) => entry.messageHash === null);
  return hidden === undefined
    ? { kind: 'absent', atSlot, historyFrom }
    : { kind: 'unreadable', reason: `no node shows the transaction ${hidden.signature} of the wallet` };
}
