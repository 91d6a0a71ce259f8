import type {
  AgreedBlock,
  AttemptFacts,
  Displacement,
  Evidence,
  NodeTestimony,
  SequencedCoverage,
  Sighting,
  Verdict,
} from '../../domain/attempt.ts';
import {
  countNodes,
  isAgreed,
  isWholeNull,
  judgeable,
  judgeFinalized,
  judgeInclusion,
  type SeenBy,
  seenBy,
  unknown,
} from './status-observations.ts';

/** Block heights for which a blockhash stays usable. */
export const BLOCKHASH_LIFE = 150n;

/** No last height is further above a finalized one: a blockhash is confirmed when it is taken, and final within its life. */
export const FARTHEST = 2n * BLOCKHASH_LIFE;

/** The last height by the attempt's own numbers, which one node may have told alone: no death rests on it. */
export function claimedHeight({ blockhashHeight, lastValidBlockHeight }: AttemptFacts): bigint {
  const counted = blockhashHeight + BLOCKHASH_LIFE;
  return lastValidBlockHeight > counted ? lastValidBlockHeight : counted;
}

/** The hash of the attempt's first block. */
export function firstHash({ adoptedFrom, blockhash }: AttemptFacts): string {
  return adoptedFrom ?? blockhash;
}

/**
 * L of a message that we did not compose, from the block heights that nodes report after one of them accepted its blockhash: what a
 * node accepts is at most one life old. Null where fewer than `quorum` nodes answer, or the highest is out of reach for a quorum: that
 * settlement would never end. Source: docs/decisions/0012-quorum.md.
 */
export function adoptedLastHeight(heights: readonly bigint[], quorum: number): bigint | null {
  const fromHighest = heights.toSorted((a, b) => (a < b ? 1 : -1));
  const [highest, reached] = [fromHighest[0], fromHighest[quorum - 1]];
  if (highest === undefined || reached === undefined || highest - reached > FARTHEST) return null;
  return highest + BLOCKHASH_LIFE;
}

/**
 * L: the last height at which the attempt could land, where a quorum gives its first block the height `originHeight`.
 * What a composed attempt claims can raise it by the one block in which nodes may count differently, and never lower it.
 */
export function deathHeight(attempt: AttemptFacts, originHeight: bigint): bigint {
  if (attempt.adoptedFrom !== null) return claimedHeight(attempt);
  const counted = originHeight + BLOCKHASH_LIFE;
  return claimedHeight(attempt) > counted ? counted + 1n : counted;
}

/**
 * A reason to look closer, never a proof: any node reports a finalized height above what the attempt claims to be its last, or
 * what it claims is out of reach for all of them.
 */
export function isDue(attempt: AttemptFacts, heights: readonly NodeTestimony<bigint>[]): boolean {
  const claimed = claimedHeight(attempt);
  const outOfReach = heights.length > 0 && heights.every(({ answer }) => claimed - answer > FARTHEST);
  return outOfReach || heights.some(({ answer }) => answer > claimed);
}

/**
 * Answers "may we sign again?" for one attempt with a blockhash: only `dead` allows a new one. Pure; decides on the evidence alone,
 * never on time.
 *
 * - `landed` / `failed`: a node reports it finalized and another (one and the same where the quorum is 1) shows the same outcome.
 * - `dead`: a quorum agrees on its first block, which gives L where that is the block of its blockhash; a quorum's finalized heights are above L, and none of these
 *   nodes' finalized banks takes the blockhash any more; the linked
 *   finalized blocks from that block to one above L, which a quorum shows with the same transactions, lack the signature; and after
 *   both a quorum answers null, from histories that reach back to that block, at a slot above L.
 *   Or, instead of those blocks: a quorum shows that the finalized chain has another block, or none, where its blockhash was made;
 *   a transaction is valid only on top of the block of its blockhash.
 * - `alive`: it may still land, or a fork that holds it is not yet refuted.
 * - `unknown`: the evidence is incomplete or contradicts itself. Keep waiting, never sign.
 *
 * Source: docs/decisions/0012-quorum.md.
 */
export function judgeAttempt(attempt: AttemptFacts, evidence: Evidence): Verdict {
  const seen = evidence.statuses.flatMap(seenBy);
  const refuting = refutingCoverage(attempt, evidence);
  const displaced = refutingDisplacement(attempt, evidence);
  return (
    judgeable(attempt, evidence) ??
    judgeFinalized(seen, evidence, impossibleReason(refuting, displaced)) ??
    judgeInclusion(evidence.coverage) ??
    (displaced === null ? judgeUnfinalized(seen, refuting) : null) ??
    judgeAbsence(attempt, evidence, gapless(refuting) ?? goneFor(attempt, displaced))
  );
}

/** What proves that no finalized block up to L holds the attempt, and the slot from which on a null means the same. */
interface Refutation {
  readonly sequence: number;
  readonly toSlot: bigint;
}

function gapless(coverage: SequencedCoverage | null): Refutation | null {
  return coverage === null ? null : { sequence: coverage.sequence, toSlot: coverage.last.slot };
}

function goneFor(attempt: AttemptFacts, displaced: Displacement | null): Refutation | null {
  if (displaced === null) return null;
  return { sequence: displaced.sequence, toSlot: displacedUntil(attempt, displaced) };
}

/** The first slot of a block above L: it has one of its own for each height after that of the displacing block. */
export function displacedUntil(attempt: AttemptFacts, { by }: Pick<Displacement, 'by'>): bigint {
  const above = claimedHeight(attempt) + 1n - by.height;
  return by.slot + (above > 0n ? above : 0n);
}

function impossibleReason(refuting: SequencedCoverage | null, displaced: Displacement | null): string | null {
  if (refuting !== null) return 'the linked blocks lack it';
  return displaced === null ? null : 'the finalized chain lacks the block of its blockhash';
}

/** A sighting below finalized keeps the attempt alive until the linked finalized blocks show that its fork died. */
function judgeUnfinalized(seen: readonly SeenBy[], refuting: SequencedCoverage | null): Verdict | null {
  if (refuting !== null) {
    const beyond = seen.find((sighting) => sighting.slot > refuting.last.slot);
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

function judgeAbsence(attempt: AttemptFacts, evidence: Evidence, refuting: Refutation | null): Verdict {
  const { quorum, finalizedHeights } = evidence;
  if (countNodes(finalizedHeights) < quorum) return unknown('too few nodes report a finalized height');
  const origin = agreedOrigin(attempt, evidence);
  if (origin === null && refuting === null)
    return isDue(attempt, finalizedHeights)
      ? unknown('too few nodes agree on its first block')
      : judgeUnexpired(evidence);
  const past = firstPast(evidence, lastHeightOf(attempt, origin));
  const pastAt = [...past.values()].sort((a, b) => a - b)[quorum - 1];
  if (pastAt === undefined) return judgeUnexpired(evidence);
  if (refuting === null)
    return unknown('expired, and the finalized blocks up to its last height are not all linked');
  const after = Math.max(pastAt, refuting.sequence);
  // A null counts only from a node that itself had passed L, whose every later answer is null too, and whose history holds the whole life.
  const silent = [...past].filter(([node, own]) => {
    const bound = Math.max(after, own);
    const late = evidence.statuses.filter((status) => status.node === node && status.sequence > bound);
    const isNull = (status: NodeTestimony<Sighting>) =>
      isWholeNull(status.answer, attempt.blockhashSlot, refuting.toSlot);
    return late.length > 0 && late.every(isNull);
  });
  return silent.length < quorum
    ? unknown(
        'expired, and too few nodes answered null after heights and coverage, with a history of its whole life',
      )
    : { kind: 'dead' };
}

/** L where its first block is final, else what the attempt claims. */
function lastHeightOf(attempt: AttemptFacts, origin: AgreedBlock | null): bigint {
  return origin === null ? claimedHeight(attempt) : deathHeight(attempt, origin.height);
}

function judgeUnexpired({ quorum, statuses }: Evidence): Verdict {
  const readable = statuses.filter((status) => status.answer.kind !== 'unreadable');
  return countNodes(readable) < quorum
    ? unknown('too few nodes report a status')
    : { kind: 'alive', seen: null };
}

/** The attempt's first block, where a quorum agrees on it. */
function agreedOrigin(attempt: AttemptFacts, { origin, quorum }: Evidence): AgreedBlock | null {
  return origin?.blockhash === firstHash(attempt) && isAgreed(origin, quorum) ? origin : null;
}

/** The coverage, where it proves that no finalized block up to L holds the signature. */
function refutingCoverage(attempt: AttemptFacts, evidence: Evidence): SequencedCoverage | null {
  const { coverage, quorum } = evidence;
  const origin = agreedOrigin(attempt, evidence);
  if (origin === null || coverage === null || coverage.containsSignature) return null;
  const { first, last, witnesses } = coverage;
  const whole =
    witnesses >= quorum &&
    first.blockhash === origin.blockhash &&
    first.height === origin.height &&
    last.height > deathHeight(attempt, origin.height);
  return whole && isAgreed(first, quorum) && isAgreed(last, quorum) ? coverage : null;
}

/**
 * The displacement, where a quorum is above the attempt's last height and agrees that its blockhash is not on the finalized chain.
 * Nobody knows in which slot the blockhash of an adopted message was made.
 */
function refutingDisplacement(attempt: AttemptFacts, evidence: Evidence): Displacement | null {
  const { displacement, quorum } = evidence;
  if (displacement === null || attempt.adoptedFrom !== null) return null;
  if (agreedOrigin(attempt, evidence) !== null) return null;
  const { slot, by, parentSlot } = displacement;
  const isGone =
    slot === attempt.blockhashSlot &&
    parentSlot < slot &&
    slot <= by.slot &&
    by.blockhash !== attempt.blockhash;
  const isOver = firstPast(evidence, claimedHeight(attempt)).size >= quorum;
  return isGone && isOver && isAgreed(by, quorum) ? displacement : null;
}

/**
 * For each node that reports a height above `lastHeight`, the sequence of its first such answer. One whose finalized bank still takes
 * the blockhash contradicts itself.
 */
function firstPast(
  { finalizedHeights, stillTaking }: Evidence,
  lastHeight: bigint,
): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const { node, sequence, answer } of finalizedHeights) {
    if (answer > lastHeight && !stillTaking.includes(node))
      first.set(node, Math.min(sequence, first.get(node) ?? sequence));
  }
  return first;
}
