import type { AttemptVerdict, NonceAttemptFacts, NonceEvidence } from '../../domain/attempt.ts';
import { isAbove } from '../../domain/units.ts';
import {
  aliveOnFork,
  countNodes,
  firstMatches,
  isAgreed,
  judgeFinalized,
  judgeInclusion,
  judgePreconditions,
  nodesProvingAbsence,
  type Refutation,
  seenStatuses,
  unknownVerdict,
} from './status-observations.ts';

/**
 * Decides whether an attempt with a durable nonce has ended: only `dead` permits a new signature. Such a transaction
 * never expires, so heights and times are never evidence. Pure.
 *
 * - `landed`: as in {@link judgeAttempt}.
 * - `failed`: as in {@link judgeAttempt}, if the transaction paid a fee, which means that it used up its nonce. A
 *   transaction that a block includes without executing it pays no fee and leaves the nonce unused. It has failed only
 *   if a quorum returns, as for `dead`, another transaction that used up the nonce or advanced the account past it.
 * - `dead`: a quorum's finalized nonces differ from the attempt's, a quorum returns another finalized transaction that
 *   used up the nonce, and after both a quorum returns null for the attempt. If the account was advanced by a
 *   transaction that does not name the nonce, a quorum must return that transaction. The linked finalized blocks from
 *   `nonceSlot` to that transaction must then lack the attempt's signature.
 * - `alive`: a quorum reports the nonce as unused; or a node reports the attempt below finalized, and too few nodes
 *   report its nonce as used.
 * - `unknown`: the evidence is incomplete or contradicts itself. Keep waiting, never sign.
 *
 * Source: docs/decisions/0011-transaction-lifetimes.md; docs/interface.md, Prioritization fee rules 4.
 */
export function judgeNonceAttempt(attempt: NonceAttemptFacts, evidence: NonceEvidence): AttemptVerdict {
  const refutation = refutingUse(attempt, evidence) ?? refutingBypass(attempt, evidence);
  return (
    judgePreconditions(attempt, evidence) ??
    judgeOutcome(attempt, evidence, refutation) ??
    judgeInclusion(evidence.coverage) ??
    judgeUnfinalized(attempt, evidence, refutation) ??
    judgeNonce(attempt, evidence, refutation)
  );
}

/**
 * While any node reports the attempt as processed or confirmed, it is not judged dead, whatever other evidence there
 * is. Such a report does not last: a node that followed an abandoned fork returns null later, and a node whose report
 * is disproved is distrusted.
 */
function judgeUnfinalized(
  attempt: NonceAttemptFacts,
  evidence: NonceEvidence,
  refutation: NonceRefutation | null,
): AttemptVerdict | null {
  const reports = evidence.statuses.flatMap(seenStatuses);
  const [first] = reports;
  if (first === undefined) return null;
  const report = `${first.node} reports the transaction as ${first.commitment} in slot ${first.slot}`;
  if (refutation !== null) return unknownVerdict(`${report}, ${refutation.reason}`);
  if (firstDifferentNonces(attempt, evidence).size >= evidence.quorum)
    return unknownVerdict(
      `${report}, but its nonce is used up, and no node reports the transaction as finalized`,
    );
  return aliveOnFork(reports);
}

/**
 * Judges an attempt without a known signature by its message hash. `usingMessageHash`: hash of the message that used up
 * the nonce, from bytes whose signatures were verified; null if no node returns these bytes. They prove which message
 * executed, so no null answers are needed. Never `landed`: an outcome can be requested only by signature.
 */
export function judgeUnsignedNonce(
  attempt: NonceAttemptFacts & { readonly messageHash: string },
  evidence: NonceEvidence,
  usingMessageHash: string | null,
): AttemptVerdict {
  const { quorum, finalizedNonces } = evidence;
  if (countNodes(finalizedNonces) < quorum) return unknownVerdict('too few nodes report the finalized nonce');
  if (firstDifferentNonces(attempt, evidence).size < quorum) return { kind: 'alive', seen: null };
  if (usingMessageHash === attempt.messageHash)
    return unknownVerdict('the message of the attempt has used up its nonce, but its signature is not known');
  return usingMessageHash === null || refutingUse(attempt, evidence) === null
    ? unknownVerdict(unprovedReason(evidence))
    : { kind: 'dead' };
}

/** Verdict from finalized statuses. A transaction that a block includes without executing it has not failed. */
function judgeOutcome(
  attempt: NonceAttemptFacts,
  evidence: NonceEvidence,
  refutation: NonceRefutation | null,
): AttemptVerdict | null {
  const reports = evidence.statuses.flatMap(seenStatuses);
  const verdict = judgeFinalized(reports, evidence, null);
  if (verdict?.kind !== 'failed' || evidence.chargedBy.length > 0)
    return judgeFinalized(reports, evidence, refutation?.reason ?? null);
  if (refutation !== null) return verdict;
  // The same bytes can have executed in an earlier slot and used up the nonce.
  return firstDifferentNonces(attempt, evidence).size < evidence.quorum
    ? { kind: 'alive', seen: null }
    : unknownVerdict(
        'a block includes the transaction without executing it, and too few nodes return the transaction that used up its nonce',
      );
}

/** Proof that the attempt did not use up its nonce, and the nodes that return the transaction that did. */
interface NonceRefutation extends Refutation {
  readonly reason: string;
  readonly shownBy: readonly string[];
}

function judgeNonce(
  attempt: NonceAttemptFacts,
  evidence: NonceEvidence,
  refutation: NonceRefutation | null,
): AttemptVerdict {
  const { quorum, finalizedNonces, use } = evidence;
  if (countNodes(finalizedNonces) < quorum) return unknownVerdict('too few nodes report the finalized nonce');
  const advancedNodes = firstDifferentNonces(attempt, evidence);
  if (advancedNodes.size < quorum) return { kind: 'alive', seen: null };
  if (use?.signature === attempt.signature)
    return unknownVerdict('the transaction used up its own nonce, but no node returns its outcome yet');
  if (refutation === null) return unknownVerdict(unprovedReason(evidence));
  // A null counts only from a node that also returns the transaction that ended the nonce.
  const absentNodes = nodesProvingAbsence(advancedNodes, evidence, refutation, attempt.nonceSlot);
  return absentNodes.filter((node) => refutation.shownBy.includes(node)).length < quorum
    ? unknownVerdict(
        'the nonce of the attempt is used up, but too few nodes have returned null for the attempt after that',
      )
    : { kind: 'dead' };
}

function unprovedReason({ bypass }: Pick<NonceEvidence, 'bypass'>): string {
  return bypass === null
    ? 'the nonce of the attempt is used up, but too few nodes return the transaction that used it'
    : `${bypass.signature} has advanced the nonce account past the nonce of the attempt, but the finalized blocks up to slot ${bypass.slot} are not all linked`;
}

/**
 * Refutation by another transaction that used up the nonce, if a quorum returns it. Two nonce accounts can have the
 * same value, so the account must match too.
 */
function refutingUse(attempt: NonceAttemptFacts, { use, quorum }: NonceEvidence): NonceRefutation | null {
  if (use === null || use.signature === attempt.signature) return null;
  const isSame = use.nonceAccount === attempt.nonceAccount && use.nonce === attempt.nonce;
  const { signature, shownBy, sequence, slot } = use;
  const reason = `but ${signature} used up its nonce`;
  return isSame && new Set(shownBy).size >= quorum ? { reason, shownBy, sequence, toSlot: slot } : null;
}

/**
 * Refutation by a transaction that advanced the account past the nonce, if a quorum returns it and the linked blocks
 * prove that the attempt did not execute before it.
 */
function refutingBypass(
  { signature, nonceAccount, nonceSlot }: NonceAttemptFacts,
  { bypass, coverage, quorum }: NonceEvidence,
): NonceRefutation | null {
  if (bypass === null || coverage === null || coverage.containsSignature) return null;
  const { shownBy, slot } = bypass;
  const { first, last, minAgreeingNodes, sequence } = coverage;
  const isReturned =
    bypass.signature !== signature && bypass.nonceAccount === nonceAccount && new Set(shownBy).size >= quorum;
  const isCovered =
    minAgreeingNodes >= quorum &&
    !isAbove(first.slot, nonceSlot) &&
    isAbove(slot, nonceSlot) &&
    !isAbove(slot, last.slot);
  const reason = `but the linked blocks up to slot ${slot}, where the account had advanced past the nonce, do not contain the transaction`;
  return isReturned && isCovered && isAgreed(first, quorum) && isAgreed(last, quorum)
    ? { reason, shownBy, sequence, toSlot: slot }
    : null;
}

/** For each node whose finalized nonces all differ from the attempt's, the sequence of its first such answer. */
function firstDifferentNonces(
  { nonce }: NonceAttemptFacts,
  { finalizedNonces }: NonceEvidence,
): ReadonlyMap<string, number> {
  const nodesWithNonce = new Set(
    finalizedNonces.flatMap(({ node, answer }) => (answer === nonce ? [node] : [])),
  );
  return firstMatches(finalizedNonces, ({ node }) => !nodesWithNonce.has(node));
}
