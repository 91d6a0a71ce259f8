import type { AttemptFacts, Evidence, NodeTestimony, SequencedCoverage, Verdict } from './attempt.ts';
import { countNodes, judgeable, judgeFinalized, type SeenBy, seenBy, unknown } from './sightings.ts';

/** Block heights for which a blockhash stays usable. */
export const BLOCKHASH_LIFE = 150n;

/** L: the last height at which the attempt could land, by the more cautious of node's word and own count. */
export function deathHeight(attempt: AttemptFacts): bigint {
  const counted = attempt.blockhashHeight + BLOCKHASH_LIFE;
  return attempt.lastValidBlockHeight > counted ? attempt.lastValidBlockHeight : counted;
}

/**
 * Answers "may we sign again?" for one attempt with a blockhash: only `dead` allows a new one. Pure; decides on the evidence alone, never on time.
 *
 * - `landed` / `failed`: a node reports it finalized and another (one and the same where the quorum is 1) shows the same outcome.
 * - `dead`: a quorum's finalized heights are above L, the linked finalized blocks up to above L lack the signature and
 *   their end is agreed by a quorum, and after both a quorum answers null.
 * - `alive`: it may still land, or a fork that holds it is not yet refuted.
 * - `unknown`: the evidence is incomplete or contradicts itself. Keep waiting, never sign.
 *
 * Source: DESIGN "When an attempt is dead"; solana §2.4.
 */
export function judgeAttempt(attempt: AttemptFacts, evidence: Evidence): Verdict {
  const seen = evidence.statuses.flatMap(seenBy);
  const refuting = refutingCoverage(attempt, evidence);
  return (
    judgeable(attempt, evidence) ??
    judgeFinalized(seen, evidence, refuting === null ? null : 'the linked blocks lack it') ??
    judgeInclusion(evidence) ??
    judgeUnfinalized(seen, refuting) ??
    judgeAbsence(deathHeight(attempt), evidence, refuting)
  );
}

function judgeInclusion(evidence: Evidence): Verdict | null {
  return evidence.coverage?.containsSignature === true
    ? unknown('the finalized blocks hold the signature, no node shows its outcome yet')
    : null;
}

/** A sighting below finalized keeps the attempt alive until the linked finalized blocks show that its fork died. */
function judgeUnfinalized(seen: readonly SeenBy[], refuting: SequencedCoverage | null): Verdict | null {
  if (refuting !== null) {
    const beyond = seen.find((sighting) => sighting.slot > refuting.lastSlot);
    return beyond === undefined
      ? null
      : unknown(`${beyond.node} reports it in a slot above the covered blocks`);
  }
  if (seen.length === 0) return null;
  return {
    kind: 'alive',
    seen: seen.some((one) => one.commitment === 'confirmed') ? 'confirmed' : 'processed',
  };
}

function judgeAbsence(lastHeight: bigint, evidence: Evidence, refuting: SequencedCoverage | null): Verdict {
  const { quorum } = evidence;
  if (countNodes(evidence.finalizedHeights) < quorum)
    return unknown('too few nodes report a finalized height');
  const past = firstPast(evidence.finalizedHeights, lastHeight);
  const pastAt = [...past.values()].sort((a, b) => a - b)[quorum - 1];
  if (pastAt === undefined) {
    const readable = evidence.statuses.filter((status) => status.answer.kind !== 'unreadable');
    return countNodes(readable) < quorum
      ? unknown('too few nodes report a status')
      : { kind: 'alive', seen: null };
  }
  if (refuting === null)
    return unknown('expired, and the finalized blocks up to its last height are not all linked');
  const after = Math.max(pastAt, refuting.sequence);
  // A null counts only from a node that itself had passed L, whose every later answer is null too.
  const silent = [...past].filter(([node, own]) => {
    const bound = Math.max(after, own);
    const late = evidence.statuses.filter((status) => status.node === node && status.sequence > bound);
    return late.length > 0 && late.every((status) => status.answer.kind === 'absent');
  });
  return silent.length < quorum
    ? unknown('expired, and too few nodes answered null after heights and coverage')
    : { kind: 'dead' };
}

/** The coverage, where it proves that no finalized block up to L holds the signature. */
function refutingCoverage(attempt: AttemptFacts, evidence: Evidence): SequencedCoverage | null {
  const { coverage, quorum } = evidence;
  if (coverage === null || coverage.containsSignature) return null;
  const whole =
    coverage.firstBlockhash === attempt.blockhash &&
    coverage.fromHeight === attempt.blockhashHeight &&
    coverage.toHeight > deathHeight(attempt);
  return whole && new Set(coverage.agreeingNodes).size >= quorum ? coverage : null;
}

/** For each node that reports a height above `lastHeight`, the sequence of its first such answer. */
function firstPast(
  heights: readonly NodeTestimony<bigint>[],
  lastHeight: bigint,
): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const { node, sequence, answer } of heights) {
    if (answer > lastHeight) first.set(node, Math.min(sequence, first.get(node) ?? sequence));
  }
  return first;
}
