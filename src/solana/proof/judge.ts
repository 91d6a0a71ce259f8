import type {
  AgreedBlock,
  AttemptFacts,
  AttemptVerdict,
  Displacement,
  Evidence,
  NodeAnswer,
  NonceAttemptFacts,
  SequencedCoverage,
} from '../../domain/attempt.ts';
import { type BlockHeight, type Blockhash, isAbove, type Slot } from '../../domain/units.ts';
import { highestQuorumValue } from '../rpc/quorum.ts';
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
  type SeenStatus,
  seenStatuses,
  unknownVerdict,
} from './status-observations.ts';

/** Number of blocks for which a blockhash stays valid. */
export const BLOCKHASH_LIFE = 150n;

/**
 * Largest plausible distance, in blocks, from a finalized height to an attempt's last height: its blockhash is read
 * from a confirmed block, which is finalized before the blockhash expires.
 */
export const MAX_HEIGHTS_AHEAD = 2n * BLOCKHASH_LIFE;

/**
 * Last height at which the attempt can land, computed from its stored values. These can come from a single node, so
 * they never suffice to prove that the attempt is dead.
 */
export function claimedLastHeight({ blockhashHeight, lastValidBlockHeight }: AttemptFacts): BlockHeight {
  const counted = blockhashHeight + BLOCKHASH_LIFE;
  return isAbove(lastValidBlockHeight, counted) ? lastValidBlockHeight : counted;
}

export function firstBlockhash({ adoptedFrom, blockhash }: AttemptFacts): Blockhash {
  return adoptedFrom ?? blockhash;
}

/**
 * Last height (L) at which an adopted message can land. `heights` must be read after a node accepted the message's
 * blockhash. Null if fewer than `quorum` nodes answer, or if the highest answer is more than
 * {@link MAX_HEIGHTS_AHEAD} above the quorum's: with an L that high, the settlement would never end.
 * Source: docs/decisions/0012-quorum.md.
 */
export function adoptedLastHeight(heights: readonly BlockHeight[], quorum: number): BlockHeight | null {
  const [highest, common] = [highestQuorumValue(heights, 1), highestQuorumValue(heights, quorum)];
  if (highest === null || common === null || highest - common > MAX_HEIGHTS_AHEAD) return null;
  return highest + BLOCKHASH_LIFE;
}

/**
 * Last height (L) at which the attempt can land, if a quorum agrees that its first block has height `originHeight`.
 * For a composed attempt, the stored values can raise L by one block, because the heights of nodes can differ by one.
 * They never lower L.
 */
export function agreedLastHeight(attempt: AttemptFacts, originHeight: BlockHeight): BlockHeight {
  if (attempt.adoptedFrom !== null) return claimedLastHeight(attempt);
  const counted = originHeight + BLOCKHASH_LIFE;
  return claimedLastHeight(attempt) > counted ? counted + 1n : counted;
}

/**
 * True if the attempt must be investigated: a node is above the claimed last height, or that height is implausibly far
 * above all nodes. True is not a proof.
 */
export function isDue(attempt: AttemptFacts, heights: readonly NodeAnswer<BlockHeight>[]): boolean {
  const claimedHeight = claimedLastHeight(attempt);
  const isOutOfReach =
    heights.length > 0 && heights.every(({ answer }) => claimedHeight - answer > MAX_HEIGHTS_AHEAD);
  return isOutOfReach || heights.some(({ answer }) => isAbove(answer, claimedHeight));
}

/** True if a quorum's finalized heights are above the attempt's claimed last height; false for a nonce. Not a proof. */
export function isPastLastHeight(
  attempt: AttemptFacts | NonceAttemptFacts,
  heights: readonly NodeAnswer<BlockHeight>[],
  quorum: number,
): boolean {
  if ('nonce' in attempt) return false;
  const last = claimedLastHeight(attempt);
  return heights.filter(({ answer }) => isAbove(answer, last)).length >= quorum;
}

/**
 * Decides whether an attempt with a blockhash has ended: only `dead` permits a new signature. Pure; the verdict depends
 * on the evidence alone, never on time. L is the last height at which the attempt can land.
 *
 * - `landed` / `failed`: a node reports the transaction as finalized, and another node returns the same outcome (with a
 *   quorum of 1, the same node).
 * - `dead`: all of the following conditions are met.
 *   1. A quorum agrees on the attempt's first block. For a composed attempt, L follows from that block's height.
 *   2. A quorum's finalized heights are above L, and the finalized banks of these nodes no longer accept the blockhash.
 *   3. The linked finalized blocks from the first block to a block above L lack the signature. A quorum returns each
 *      block with the same transactions.
 *   4. After 2 and 3, a quorum returns null at a slot above L, from histories that reach back to the first block.
 *
 *   Instead of 1 and 3, a quorum can return a chain without the block of the blockhash: a transaction is valid only on
 *   a chain that contains the block of its blockhash.
 * - `alive`: the attempt can still land, or a fork that contains the transaction is not yet disproved.
 * - `unknown`: the evidence is incomplete or contradicts itself. Keep waiting, never sign.
 *
 * Source: docs/decisions/0012-quorum.md.
 */
export function judgeAttempt(attempt: AttemptFacts, evidence: Evidence): AttemptVerdict {
  const reports = evidence.statuses.flatMap(seenStatuses);
  const refutation = refutingCoverage(attempt, evidence);
  const displacement = refutingDisplacement(attempt, evidence);
  return (
    judgePreconditions(attempt, evidence) ??
    judgeFinalized(reports, evidence, impossibleReason(refutation, displacement)) ??
    judgeInclusion(evidence.coverage) ??
    (displacement === null ? judgeUnfinalized(reports, refutation) : null) ??
    judgeAbsence(attempt, evidence, byCoverage(refutation) ?? byDisplacement(attempt, displacement))
  );
}

function byCoverage(coverage: SequencedCoverage | null): Refutation | null {
  return coverage === null ? null : { sequence: coverage.sequence, toSlot: coverage.last.slot };
}

function byDisplacement(attempt: AttemptFacts, displacement: Displacement | null): Refutation | null {
  if (displacement === null) return null;
  return { sequence: displacement.sequence, toSlot: firstSlotAboveLastHeight(attempt, displacement) };
}

/** First slot that can have a block above L: each height after the displacing block needs a slot of its own. */
export function firstSlotAboveLastHeight(attempt: AttemptFacts, { by }: Pick<Displacement, 'by'>): Slot {
  const above = claimedLastHeight(attempt) + 1n - by.height;
  return by.slot + (above > 0n ? above : 0n);
}

function impossibleReason(
  refutation: SequencedCoverage | null,
  displacement: Displacement | null,
): string | null {
  if (refutation !== null) return 'but the linked blocks lack it';
  return displacement === null ? null : 'but the finalized chain lacks the block of its blockhash';
}

/** An attempt without a stored signature, identified by its message: every valid signature signs that message. */
type UnsignedFacts = Omit<AttemptFacts, 'signature'> & {
  /** Hex SHA-256 of the message. */
  readonly messageHash: string;
};

/**
 * Judges an attempt without a stored signature, although a signature can exist, by the rules of {@link judgeAttempt}.
 * The message hash takes the place of the signature: `coverage` states whether the linked blocks contain the message,
 * and `statuses` come from each node's history of the wallet. Never `landed`.
 */
export function judgeUnsigned(attempt: UnsignedFacts, evidence: Evidence): AttemptVerdict {
  return judgeAttempt(
    { ...attempt, signature: attempt.messageHash },
    { ...evidence, outcomeConfirmedBy: [] },
  );
}

/** A status below finalized keeps the attempt alive until linked finalized blocks prove that its fork was abandoned. */
function judgeUnfinalized(
  reports: readonly SeenStatus[],
  refutation: SequencedCoverage | null,
): AttemptVerdict | null {
  if (refutation !== null) {
    const lateReport = reports.find(({ slot }) => isAbove(slot, refutation.last.slot));
    return lateReport === undefined
      ? null
      : unknownVerdict(
          `${lateReport.node} reports the transaction in slot ${lateReport.slot}, above the linked blocks`,
        );
  }
  return reports.length === 0 ? null : aliveOnFork(reports);
}

function judgeAbsence(
  attempt: AttemptFacts,
  evidence: Evidence,
  refutation: Refutation | null,
): AttemptVerdict {
  const { quorum, finalizedHeights } = evidence;
  if (countNodes(finalizedHeights) < quorum) return unknownVerdict('too few nodes report a finalized height');
  const origin = agreedOrigin(attempt, evidence);
  if (origin === null && refutation === null)
    return isDue(attempt, finalizedHeights)
      ? unknownVerdict('too few nodes agree on the first block of the attempt')
      : judgeUnexpired(evidence);
  const heightsAbove = firstHeightsAbove(evidence, lastHeightOf(attempt, origin));
  if (heightsAbove.size < quorum) return judgeUnexpired(evidence);
  if (refutation === null)
    return unknownVerdict(
      'the attempt has expired, but the finalized blocks up to its last height are not all linked',
    );
  return nodesProvingAbsence(heightsAbove, evidence, refutation, attempt.blockhashSlot).length < quorum
    ? unknownVerdict(
        'the attempt has expired and no finalized block contains it, but too few nodes whose history covers its whole validity window have returned null for it',
      )
    : { kind: 'dead' };
}

function lastHeightOf(attempt: AttemptFacts, origin: AgreedBlock | null): BlockHeight {
  return origin === null ? claimedLastHeight(attempt) : agreedLastHeight(attempt, origin.height);
}

function judgeUnexpired({ quorum, statuses }: Evidence): AttemptVerdict {
  const readable = statuses.filter((status) => status.answer.kind !== 'unreadable');
  return countNodes(readable) < quorum
    ? unknownVerdict('too few nodes report a status of the transaction')
    : { kind: 'alive', seen: null };
}

function agreedOrigin(attempt: AttemptFacts, { origin, quorum }: Evidence): AgreedBlock | null {
  return origin?.blockhash === firstBlockhash(attempt) && isAgreed(origin, quorum) ? origin : null;
}

/** Returns the coverage if it proves that no finalized block up to L contains the signature. */
function refutingCoverage(attempt: AttemptFacts, evidence: Evidence): SequencedCoverage | null {
  const { coverage, quorum } = evidence;
  const origin = agreedOrigin(attempt, evidence);
  if (origin === null || coverage === null || coverage.containsSignature) return null;
  const { first, last, minAgreeingNodes } = coverage;
  const isComplete =
    minAgreeingNodes >= quorum &&
    first.blockhash === origin.blockhash &&
    first.height === origin.height &&
    isAbove(last.height, agreedLastHeight(attempt, origin.height));
  return isComplete && isAgreed(first, quorum) && isAgreed(last, quorum) ? coverage : null;
}

/**
 * Returns the displacement if a quorum is above the attempt's last height and agrees that the finalized chain lacks the
 * block of its blockhash. Null for an adopted message, because the slot of its blockhash is unknown.
 */
function refutingDisplacement(attempt: AttemptFacts, evidence: Evidence): Displacement | null {
  const { displacement, quorum } = evidence;
  if (displacement === null || attempt.adoptedFrom !== null) return null;
  if (agreedOrigin(attempt, evidence) !== null) return null;
  const { slot, by, parentSlot } = displacement;
  const isDisplaced =
    slot === attempt.blockhashSlot &&
    isAbove(slot, parentSlot) &&
    !isAbove(slot, by.slot) &&
    by.blockhash !== attempt.blockhash;
  const hasExpired = firstHeightsAbove(evidence, claimedLastHeight(attempt)).size >= quorum;
  return isDisplaced && hasExpired && isAgreed(by, quorum) ? displacement : null;
}

/**
 * For each node that reports a height above `lastHeight`, the sequence of its first such answer. Excludes nodes whose
 * finalized bank still accepts the blockhash: they contradict themselves.
 */
function firstHeightsAbove(
  { finalizedHeights, stillTaking }: Evidence,
  lastHeight: BlockHeight,
): ReadonlyMap<string, number> {
  return firstMatches(
    finalizedHeights,
    ({ node, answer }) => isAbove(answer, lastHeight) && !stillTaking.includes(node),
  );
}
