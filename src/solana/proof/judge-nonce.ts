import type { AttemptVerdict, NonceAttemptFacts, NonceEvidence } from '../../domain/attempt.ts';
import { isAbove } from '../../domain/units.ts';
import {
  aliveOnFork,
  countNodes,
  firstMatches,
  isAgreed,
  judgeable,
  judgeFinalized,
  judgeInclusion,
  nodesProvingAbsence,
  type Refutation,
  seenBy,
  unknown,
} from './status-observations.ts';

/**
 * Answers "may we sign again?" for one attempt with a durable nonce. Such a transaction never expires, so heights and
 * times are never evidence. Pure.
 *
 * - `landed`: as for a blockhash.
 * - `failed`: as for a blockhash, if the transaction paid a fee: then it has used up its nonce. A transaction that a
 *   block includes without running it pays no fee and uses no nonce. It has failed only if a quorum returns, as for
 *   `dead`, another transaction that ended its nonce.
 * - `dead`: a quorum's finalized nonces differ from the attempt's, a quorum returns another finalized transaction
 *   that used the nonce up, and after both a quorum answers null. Or, if the account was advanced without naming the
 *   nonce: a quorum returns the finalized transaction that advanced it. And the linked finalized blocks, which a
 *   quorum returns alike, lack the signature from a slot with the nonce unused to that transaction.
 * - `alive`: a quorum has its nonce unused; or a node reports it below finalized, and too few nodes report its nonce
 *   as used.
 * - `unknown`: the evidence is incomplete or contradicts itself. Keep waiting, never sign.
 *
 * Source: docs/decisions/0011-transaction-lifetimes.md; docs/interface.md, Prioritization fee rules 4.
 */
export function judgeNonceAttempt(attempt: NonceAttemptFacts, evidence: NonceEvidence): AttemptVerdict {
  const refuting = refutingUse(attempt, evidence) ?? refutingBypass(attempt, evidence);
  return (
    judgeable(attempt, evidence) ??
    judgeOutcome(attempt, evidence, refuting) ??
    judgeInclusion(evidence.coverage) ??
    judgeUnfinalized(attempt, evidence, refuting) ??
    judgeNonce(attempt, evidence, refuting)
  );
}

/**
 * A status below finalized forbids death, whatever contradicts it. A node that saw a dead fork later answers null,
 * and a node that a proof refutes is distrusted. If a quorum's nonces differ from the attempt's, this status is the
 * reason for the wait.
 */
function judgeUnfinalized(
  attempt: NonceAttemptFacts,
  evidence: NonceEvidence,
  refuting: NonceRefutation | null,
): AttemptVerdict | null {
  const seen = evidence.statuses.flatMap(seenBy);
  const [first] = seen;
  if (first === undefined) return null;
  const report = `${first.node} reports it ${first.commitment} in slot ${first.slot}`;
  if (refuting !== null) return unknown(`${report}, ${refuting.reason}`);
  if (firstAdvanced(attempt, evidence).size >= evidence.quorum)
    return unknown(`${report}, but its nonce is used up, and no node reports it finalized`);
  return aliveOnFork(seen);
}

/**
 * Judges an attempt without a known signature by its message hash. `usedBy`: the hash of the message of
 * `evidence.use`, proved by its signatures; null if no node returns its bytes. These bytes prove which message ran,
 * so no nulls are needed. Never `landed`: without a signature no outcome can be requested.
 */
export function judgeUnsignedNonce(
  attempt: NonceAttemptFacts & { readonly messageHash: string },
  evidence: NonceEvidence,
  usedBy: string | null,
): AttemptVerdict {
  const { quorum, finalizedNonces } = evidence;
  if (countNodes(finalizedNonces) < quorum) return unknown('too few nodes report the finalized nonce');
  if (firstAdvanced(attempt, evidence).size < quorum) return { kind: 'alive', seen: null };
  if (usedBy === attempt.messageHash) return unknown('its message has used up its own nonce');
  return usedBy === null || refutingUse(attempt, evidence) === null
    ? unknown(unprovedReason(evidence))
    : { kind: 'dead' };
}

/** The outcome that nodes return, corrected if the attempt did not run. */
function judgeOutcome(
  attempt: NonceAttemptFacts,
  evidence: NonceEvidence,
  refuting: NonceRefutation | null,
): AttemptVerdict | null {
  const seen = evidence.statuses.flatMap(seenBy);
  const shown = judgeFinalized(seen, evidence, null);
  if (shown?.kind !== 'failed' || evidence.chargedBy.length > 0)
    return judgeFinalized(seen, evidence, refuting?.reason ?? null);
  if (refuting !== null) return shown;
  // The same bytes may have run in an earlier slot and used up the nonce themselves.
  return firstAdvanced(attempt, evidence).size < evidence.quorum
    ? { kind: 'alive', seen: null }
    : unknown(
        'a block includes it without executing it, and too few nodes return the transaction that used up its nonce',
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
  refuting: NonceRefutation | null,
): AttemptVerdict {
  const { quorum, finalizedNonces, use } = evidence;
  if (countNodes(finalizedNonces) < quorum) return unknown('too few nodes report the finalized nonce');
  const advanced = firstAdvanced(attempt, evidence);
  if (advanced.size < quorum) return { kind: 'alive', seen: null };
  if (use?.signature === attempt.signature)
    return unknown('it used up its own nonce, and no node returns its outcome yet');
  if (refuting === null) return unknown(unprovedReason(evidence));
  // A null counts only from a node that returns the transaction that ended the nonce.
  const silent = nodesProvingAbsence(advanced, evidence, refuting, attempt.nonceSlot);
  return silent.filter((node) => refuting.shownBy.includes(node)).length < quorum
    ? unknown('its nonce is used up, and too few nodes answered null after that was known')
    : { kind: 'dead' };
}

function unprovedReason({ bypass }: Pick<NonceEvidence, 'bypass'>): string {
  return bypass === null
    ? 'its nonce is used up, and too few nodes return the transaction that used it'
    : `${bypass.signature} has advanced its nonce account past it, and the finalized blocks up to that are not all linked`;
}

/** The use of the nonce by another transaction, by a quorum. Two accounts can have the same value: both must match. */
function refutingUse(attempt: NonceAttemptFacts, { use, quorum }: NonceEvidence): NonceRefutation | null {
  if (use === null || use.signature === attempt.signature) return null;
  const same = use.nonceAccount === attempt.nonceAccount && use.nonce === attempt.nonce;
  const { signature, shownBy, sequence, slot } = use;
  const reason = `but ${signature} used up its nonce`;
  return same && new Set(shownBy).size >= quorum ? { reason, shownBy, sequence, toSlot: slot } : null;
}

/** The advance past the nonce, by a quorum, if the linked blocks prove that the attempt did not run before it. */
function refutingBypass(
  { signature, nonceAccount, nonceSlot }: NonceAttemptFacts,
  { bypass, coverage, quorum }: NonceEvidence,
): NonceRefutation | null {
  if (bypass === null || coverage === null || coverage.containsSignature) return null;
  const { shownBy, slot } = bypass;
  const { first, last, minAgreeingNodes, sequence } = coverage;
  const isShown =
    bypass.signature !== signature && bypass.nonceAccount === nonceAccount && new Set(shownBy).size >= quorum;
  const isWhole =
    minAgreeingNodes >= quorum &&
    !isAbove(first.slot, nonceSlot) &&
    isAbove(slot, nonceSlot) &&
    !isAbove(slot, last.slot);
  const reason = 'but the linked blocks up to the end of its nonce lack it';
  return isShown && isWhole && isAgreed(first, quorum) && isAgreed(last, quorum)
    ? { reason, shownBy, sequence, toSlot: slot }
    : null;
}

/** For each node whose finalized nonces all differ from the attempt's, the sequence of its first such answer. */
function firstAdvanced(
  { nonce }: NonceAttemptFacts,
  { finalizedNonces }: NonceEvidence,
): ReadonlyMap<string, number> {
  const unused = new Set(finalizedNonces.flatMap(({ node, answer }) => (answer === nonce ? [node] : [])));
  return firstMatches(finalizedNonces, ({ node }) => !unused.has(node));
}
