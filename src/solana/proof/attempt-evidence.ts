import type {
  AgreedBlock,
  AttemptFacts,
  Evidence,
  InvestigationTimes,
  NodeAnswer,
  NonceEvidence,
  SequencedCoverage,
  StatusObservation,
} from '../../domain/attempt.ts';
import type { AnyAttempt } from './examine.ts';
import { agreedLastHeight, claimedLastHeight } from './judge.ts';

/** Evidence of a verdict, in the JSON shape that is stored and returned by the API as `AttemptEvidence`. */
export function attemptEvidence(
  attempt: AnyAttempt,
  evidence: Evidence | NonceEvidence,
  { askedAt, judgedAt }: InvestigationTimes,
) {
  const { quorum, coverage, statuses, outcomeConfirmedBy, chargedBy } = evidence;
  return {
    askedAt,
    judgedAt,
    quorum,
    ...('use' in evidence ? nonceFacts(evidence) : blockFacts(attempt, evidence)),
    linkedBlocks: coverage && linkedBlocks(coverage),
    statuses: statuses.map(statusAnswer),
    outcomeConfirmedBy,
    chargedBy,
  };
}

/** Last height at which the attempt can land: from the first block that nodes agree on, else from stored values. */
export function lastHeight(attempt: AttemptFacts, { origin }: Pick<Evidence, 'origin'>): bigint {
  return origin === null ? claimedLastHeight(attempt) : agreedLastHeight(attempt, origin.height);
}

function blockFacts(attempt: AnyAttempt, evidence: Evidence) {
  const { finalizedHeights, stillTaking, origin, displacement } = evidence;
  return {
    lastHeight: 'nonce' in attempt ? null : lastHeight(attempt, evidence),
    finalizedHeights: finalizedHeights.map(({ node, sequence: order, answer: height }) => ({
      node,
      order,
      height,
    })),
    stillTaking,
    blockhashBlock: origin && shownBlock(origin),
    displacedBy: displacement && {
      slot: displacement.slot,
      parentSlot: displacement.parentSlot,
      block: shownBlock(displacement.by),
      order: displacement.sequence,
    },
    finalizedNonces: [],
    nonceUsedBy: null,
  };
}

function nonceFacts({ finalizedNonces, use, bypass }: NonceEvidence) {
  const end = use ?? bypass;
  return {
    lastHeight: null,
    finalizedHeights: [],
    stillTaking: [],
    blockhashBlock: null,
    displacedBy: null,
    finalizedNonces: finalizedNonces.map(({ node, sequence: order, answer: nonce }) => ({
      node,
      order,
      nonce,
    })),
    nonceUsedBy: end && {
      signature: end.signature,
      slot: end.slot,
      carriedNonce: use !== null,
      nodes: end.shownBy,
      order: end.sequence,
    },
  };
}

function linkedBlocks({
  first,
  last,
  containsSignature,
  minAgreeingNodes,
  sequence: order,
}: SequencedCoverage) {
  return {
    first: shownBlock(first),
    last: shownBlock(last),
    containsSignature: containsSignature,
    agreeingNodes: minAgreeingNodes,
    order,
  };
}

function shownBlock({ slot, blockhash, height, agreeingNodes: nodes }: AgreedBlock) {
  return { slot, blockhash, height, nodes };
}

function statusAnswer({ node, sequence: order, answer }: NodeAnswer<StatusObservation>) {
  const by = { node, order, slot: null, error: null, atSlot: null, historyFrom: null };
  switch (answer.kind) {
    case 'absent':
      return { ...by, seen: answer.kind, atSlot: answer.atSlot, historyFrom: answer.historyFrom };
    case 'unreadable':
      return { ...by, seen: answer.kind, error: answer.reason };
    case 'seen':
      return {
        ...by,
        seen: answer.commitment,
        slot: answer.slot,
        error: answer.error,
        atSlot: answer.atSlot,
      };
    default:
      return answer satisfies never;
  }
}
