import type { NonceAttemptFacts, NonceEvidence, NonceUse, Verdict } from './attempt.ts';
import { countNodes, judgeable, judgeFinalized, seenBy, unknown } from './sightings.ts';

/**
 * Answers "may we sign again?" for one attempt with a durable nonce. Such a transaction never expires, so no height and no time is
 * ever evidence. Pure.
 *
 * - `landed` / `failed`: as for a blockhash. A failed transaction has used up its nonce all the same.
 * - `dead`: a quorum's finalized nonces differ from the attempt's, a quorum shows the finalized transaction that used it up, which is
 *   another one, and after both a quorum answers null.
 * - `alive`: any node sees it below finalized, or its nonce stands.
 * - `unknown`: the evidence is incomplete or contradicts itself. Keep waiting, never sign.
 *
 * Source: DESIGN "When an attempt is dead"; exchange-interface: Prioritization fee rules 4; solana §1.
 */
export function judgeNonceAttempt(attempt: NonceAttemptFacts, evidence: NonceEvidence): Verdict {
  const seen = evidence.statuses.flatMap(seenBy);
  const foreign = foreignUse(attempt, evidence);
  const refutedBy = foreign === null ? null : `but ${foreign.signature} used up its nonce`;
  return (
    judgeable(attempt, evidence) ??
    judgeFinalized(seen, evidence, refutedBy) ??
    // Only the dead fork that it was seen on may be gone, and then the node's next answer is null.
    (seen.length === 0
      ? judgeNonce(attempt, evidence, foreign)
      : {
          kind: 'alive',
          seen: seen.some((one) => one.commitment === 'confirmed') ? 'confirmed' : 'processed',
        })
  );
}

function judgeNonce(attempt: NonceAttemptFacts, evidence: NonceEvidence, foreign: NonceUse | null): Verdict {
  const { quorum, finalizedNonces, statuses, use } = evidence;
  if (countNodes(finalizedNonces) < quorum) return unknown('too few nodes report the finalized nonce');
  const gone = firstGone(attempt, evidence);
  const goneAt = [...gone.values()].sort((a, b) => a - b)[quorum - 1];
  if (goneAt === undefined) return { kind: 'alive', seen: null };
  if (use?.signature === attempt.signature)
    return unknown('it used up its own nonce, and no node shows its outcome yet');
  if (foreign === null)
    return unknown('its nonce is used up, and too few nodes show the transaction that did it');
  const after = Math.max(goneAt, foreign.sequence);
  // A null counts only from a node that itself no longer had the nonce, whose every later answer is null too.
  const silent = [...gone].filter(([node, own]) => {
    const bound = Math.max(after, own);
    const late = statuses.filter((status) => status.node === node && status.sequence > bound);
    return late.length > 0 && late.every((status) => status.answer.kind === 'absent');
  });
  return silent.length < quorum
    ? unknown('its nonce is used up, and too few nodes answered null after that was known')
    : { kind: 'dead' };
}

/** The use of the attempt's nonce by another transaction, where a quorum shows it. Two accounts may hold the same value. */
function foreignUse(attempt: NonceAttemptFacts, { use, quorum }: NonceEvidence): NonceUse | null {
  if (use === null || use.signature === attempt.signature) return null;
  const same = use.nonceAccount === attempt.nonceAccount && use.nonce === attempt.nonce;
  return same && new Set(use.shownBy).size >= quorum ? use : null;
}

/** For each node all of whose finalized nonces differ from the attempt's, the sequence of its first such answer. */
function firstGone(
  { nonce }: NonceAttemptFacts,
  { finalizedNonces }: NonceEvidence,
): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  const standing = new Set(finalizedNonces.flatMap(({ node, answer }) => (answer === nonce ? [node] : [])));
  for (const { node, sequence, answer } of finalizedNonces) {
    if (answer !== nonce && !standing.has(node))
      first.set(node, Math.min(sequence, first.get(node) ?? sequence));
  }
  return first;
}
