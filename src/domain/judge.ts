import type {
  AttemptFacts,
  Evidence,
  NodeTestimony,
  SequencedCoverage,
  Sighting,
  Verdict,
} from './attempt.ts';

/** Block heights for which a blockhash stays usable. */
export const BLOCKHASH_LIFE = 150n;

type Seen = Extract<Sighting, { kind: 'seen' }>;
type SeenBy = Seen & { readonly node: string };

/** L: the last height at which the attempt could land, by the more cautious of node's word and own count. */
export function deathHeight(attempt: AttemptFacts): bigint {
  const counted = attempt.blockhashHeight + BLOCKHASH_LIFE;
  return attempt.lastValidBlockHeight > counted ? attempt.lastValidBlockHeight : counted;
}

/**
 * Answers "may we sign again?" for one attempt: only `dead` allows a new one. Pure; decides on the evidence alone, never on time.
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
  if (!Number.isSafeInteger(evidence.quorum) || evidence.quorum < 1) {
    return unknown('the quorum is not a positive whole number');
  }
  if (attempt.signature === null) {
    return unknown('no signature is stored: sign the same message again to learn it');
  }
  const seen = evidence.statuses.flatMap(seenBy);
  const finalized = seen.filter((sighting) => sighting.commitment === 'finalized');
  const refuting = refutingCoverage(attempt, evidence);
  return (
    judgeFinalized(finalized, evidence, refuting) ??
    judgeInclusion(evidence) ??
    judgeUnfinalized(seen, refuting) ??
    judgeAbsence(deathHeight(attempt), evidence, refuting)
  );
}

function judgeFinalized(
  finalized: readonly SeenBy[],
  evidence: Evidence,
  refuting: SequencedCoverage | null,
): Verdict | null {
  const [first] = finalized;
  if (first === undefined) {
    return evidence.outcomeConfirmedBy.length === 0
      ? null
      : unknown('an outcome is shown that no status reports');
  }
  if (
    finalized.some((other) => other.slot !== first.slot || (other.error === null) !== (first.error === null))
  ) {
    return unknown('nodes report different finalized outcomes');
  }
  if (refuting !== null) return unknown(`${first.node} reports it finalized, the linked blocks lack it`);
  const seconded = evidence.outcomeConfirmedBy.some(
    (confirmer) => evidence.quorum === 1 || finalized.some((witness) => witness.node !== confirmer),
  );
  if (!seconded) return { kind: 'alive', seen: 'confirmed' };
  return first.error === null
    ? { kind: 'landed', slot: first.slot }
    : { kind: 'failed', slot: first.slot, error: first.error };
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

function seenBy({ node, answer }: NodeTestimony<Sighting>): readonly SeenBy[] {
  switch (answer.kind) {
    case 'seen':
      return [{ ...answer, node }];
    case 'absent':
    case 'unreadable':
      return [];
    default:
      return answer satisfies never;
  }
}

function countNodes(testimonies: readonly NodeTestimony<unknown>[]): number {
  return new Set(testimonies.map((testimony) => testimony.node)).size;
}

function unknown(why: string): Verdict {
  return { kind: 'unknown', why };
}
