import type {
  AgreedBlock,
  AttemptFacts,
  AttemptVerdict,
  Displacement,
  Evidence,
  NodeAnswer,
  SequencedCoverage,
} from '../../domain/attempt.ts';
import { type BlockHeight, type Blockhash, isAbove, type Slot } from '../../domain/units.ts';
import { highestQuorumValue } from '../rpc/quorum.ts';
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
  type SeenBy,
  seenBy,
  unknown,
} from './status-observations.ts';

/** Number of blocks for which a blockhash stays valid. */
export const BLOCKHASH_LIFE = 150n;

/** The furthest L can be above a finalized height: a blockhash is confirmed when read, and final within its life. */
export const MAX_HEIGHTS_AHEAD = 2n * BLOCKHASH_LIFE;

/** The last height by the attempt's own numbers, which may come from one node alone: no death may depend on it. */
export function claimedHeight({ blockhashHeight, lastValidBlockHeight }: AttemptFacts): BlockHeight {
  const counted = blockhashHeight + BLOCKHASH_LIFE;
  return isAbove(lastValidBlockHeight, counted) ? lastValidBlockHeight : counted;
}

export function firstHash({ adoptedFrom, blockhash }: AttemptFacts): Blockhash {
  return adoptedFrom ?? blockhash;
}

/**
 * L of an adopted message, from the heights that nodes report after one accepted its blockhash, at most one life old.
 * Null if fewer than `quorum` nodes answer, or the highest answer is out of reach for a quorum: that settlement would
 * never end. Source: docs/decisions/0012-quorum.md.
 */
export function adoptedLastHeight(heights: readonly BlockHeight[], quorum: number): BlockHeight | null {
  const [highest, common] = [highestQuorumValue(heights, 1), highestQuorumValue(heights, quorum)];
  if (highest === null || common === null || highest - common > MAX_HEIGHTS_AHEAD) return null;
  return highest + BLOCKHASH_LIFE;
}

/**
 * L: the last height at which the attempt can land, if a quorum gives its first block the height `originHeight`. The
 * claim of a composed attempt can raise L by the one block by which nodes may count differently, and never lower it.
 */
export function deathHeight(attempt: AttemptFacts, originHeight: BlockHeight): BlockHeight {
  if (attempt.adoptedFrom !== null) return claimedHeight(attempt);
  const counted = originHeight + BLOCKHASH_LIFE;
  return claimedHeight(attempt) > counted ? counted + 1n : counted;
}

/** A reason to investigate, never a proof: any node is above the claimed last height, or none can ever reach it. */
export function isDue(attempt: AttemptFacts, heights: readonly NodeAnswer<BlockHeight>[]): boolean {
  const claimed = claimedHeight(attempt);
  const outOfReach =
    heights.length > 0 && heights.every(({ answer }) => claimed - answer > MAX_HEIGHTS_AHEAD);
  return outOfReach || heights.some(({ answer }) => isAbove(answer, claimed));
}

/**
 * Answers "may we sign again?" for one attempt with a blockhash: only `dead` allows a new one. Pure; decides on the
 * evidence alone, never on time.
 *
 * - `landed` / `failed`: a node reports it finalized and another node returns the same outcome (with a quorum of 1,
 *   the same node does).
 * - `dead`: all of these hold. A quorum agrees on its first block, which gives L if that is the block of its
 *   blockhash. A quorum's finalized heights are above L, and none of these nodes' finalized banks accepts the
 *   blockhash. The linked finalized blocks from its first block to one above L, which a quorum returns with the same
 *   transactions, lack the signature. After both, a quorum answers null at a slot above L, from histories that reach
 *   back to its first block. Or, instead of those blocks: a quorum returns another block, or none, where its
 *   blockhash was made; a transaction is valid only on top of the block of its blockhash.
 * - `alive`: it may still land, or a fork that contains it is not yet refuted.
 * - `unknown`: the evidence is incomplete or contradicts itself. Keep waiting, never sign.
 *
 * Source: docs/decisions/0012-quorum.md.
 */
export function judgeAttempt(attempt: AttemptFacts, evidence: Evidence): AttemptVerdict {
  const seen = evidence.statuses.flatMap(seenBy);
  const refuting = refutingCoverage(attempt, evidence);
  const displaced = refutingDisplacement(attempt, evidence);
  return (
    judgeable(attempt, evidence) ??
    judgeFinalized(seen, evidence, impossibleReason(refuting, displaced)) ??
    judgeInclusion(evidence.coverage) ??
    (displaced === null ? judgeUnfinalized(seen, refuting) : null) ??
    judgeAbsence(attempt, evidence, byCoverage(refuting) ?? byDisplacement(attempt, displaced))
  );
}

function byCoverage(coverage: SequencedCoverage | null): Refutation | null {
  return coverage === null ? null : { sequence: coverage.sequence, toSlot: coverage.last.slot };
}

function byDisplacement(attempt: AttemptFacts, displaced: Displacement | null): Refutation | null {
  if (displaced === null) return null;
  return { sequence: displaced.sequence, toSlot: displacedUntil(attempt, displaced) };
}

/** The first slot that can have a block above L: each height after the displacing block needs its own slot. */
export function displacedUntil(attempt: AttemptFacts, { by }: Pick<Displacement, 'by'>): Slot {
  const above = claimedHeight(attempt) + 1n - by.height;
  return by.slot + (above > 0n ? above : 0n);
}

function impossibleReason(refuting: SequencedCoverage | null, displaced: Displacement | null): string | null {
  if (refuting !== null) return 'the linked blocks lack it';
  return displaced === null ? null : 'the finalized chain lacks the block of its blockhash';
}

/** An attempt without a stored signature. Any signature for it covers this message. */
type UnsignedFacts = Omit<AttemptFacts, 'signature'> & {
  /** Hex SHA-256 of the message. */
  readonly messageHash: string;
};

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

/** A status below finalized keeps the attempt alive until linked finalized blocks prove that its fork died. */
function judgeUnfinalized(
  seen: readonly SeenBy[],
  refuting: SequencedCoverage | null,
): AttemptVerdict | null {
  if (refuting !== null) {
    const beyond = seen.find(({ slot }) => isAbove(slot, refuting.last.slot));
    return beyond === undefined
      ? null
      : unknown(`${beyond.node} reports it in a slot above the covered blocks`);
  }
  return seen.length === 0 ? null : aliveOnFork(seen);
}

function judgeAbsence(
  attempt: AttemptFacts,
  evidence: Evidence,
  refuting: Refutation | null,
): AttemptVerdict {
  const { quorum, finalizedHeights } = evidence;
  if (countNodes(finalizedHeights) < quorum) return unknown('too few nodes report a finalized height');
  const origin = agreedOrigin(attempt, evidence);
  if (origin === null && refuting === null)
    return isDue(attempt, finalizedHeights)
      ? unknown('too few nodes agree on its first block')
      : judgeUnexpired(evidence);
  const past = firstPast(evidence, lastHeightOf(attempt, origin));
  if (past.size < quorum) return judgeUnexpired(evidence);
  if (refuting === null)
    return unknown('expired, and the finalized blocks up to its last height are not all linked');
  return nodesProvingAbsence(past, evidence, refuting, attempt.blockhashSlot).length < quorum
    ? unknown(
        'expired, and too few nodes answered null after heights and coverage, with a history of its whole life',
      )
    : { kind: 'dead' };
}

/** L if a quorum agrees on the first block, else the claimed last height. */
function lastHeightOf(attempt: AttemptFacts, origin: AgreedBlock | null): BlockHeight {
  return origin === null ? claimedHeight(attempt) : deathHeight(attempt, origin.height);
}

function judgeUnexpired({ quorum, statuses }: Evidence): AttemptVerdict {
  const readable = statuses.filter((status) => status.answer.kind !== 'unreadable');
  return countNodes(readable) < quorum
    ? unknown('too few nodes report a status')
    : { kind: 'alive', seen: null };
}

function agreedOrigin(attempt: AttemptFacts, { origin, quorum }: Evidence): AgreedBlock | null {
  return origin?.blockhash === firstHash(attempt) && isAgreed(origin, quorum) ? origin : null;
}

/** The coverage, if it proves that no finalized block up to L contains the signature. */
function refutingCoverage(attempt: AttemptFacts, evidence: Evidence): SequencedCoverage | null {
  const { coverage, quorum } = evidence;
  const origin = agreedOrigin(attempt, evidence);
  if (origin === null || coverage === null || coverage.containsSignature) return null;
  const { first, last, minAgreeingNodes } = coverage;
  const whole =
    minAgreeingNodes >= quorum &&
    first.blockhash === origin.blockhash &&
    first.height === origin.height &&
    isAbove(last.height, deathHeight(attempt, origin.height));
  return whole && isAgreed(first, quorum) && isAgreed(last, quorum) ? coverage : null;
}

/**
 * The displacement, if a quorum is above the attempt's last height and agrees that its blockhash is not on the
 * finalized chain. Never for an adopted message, because the slot of its blockhash is unknown.
 */
function refutingDisplacement(attempt: AttemptFacts, evidence: Evidence): Displacement | null {
  const { displacement, quorum } = evidence;
  if (displacement === null || attempt.adoptedFrom !== null) return null;
  if (agreedOrigin(attempt, evidence) !== null) return null;
  const { slot, by, parentSlot } = displacement;
  const isGone =
    slot === attempt.blockhashSlot &&
    isAbove(slot, parentSlot) &&
    !isAbove(slot, by.slot) &&
    by.blockhash !== attempt.blockhash;
  const isOver = firstPast(evidence, claimedHeight(attempt)).size >= quorum;
  return isGone && isOver && isAgreed(by, quorum) ? displacement : null;
}

/**
 * For each node that reports a height above `lastHeight`, the sequence of its first such answer. A node whose
 * finalized bank still accepts the blockhash contradicts itself and is left out.
 */
function firstPast(
  { finalizedHeights, stillTaking }: Evidence,
  lastHeight: BlockHeight,
): ReadonlyMap<string, number> {
  return firstMatches(
    finalizedHeights,
    ({ node, answer }) => isAbove(answer, lastHeight) && !stillTaking.includes(node),
  );
}
