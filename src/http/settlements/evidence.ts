import type { AttemptEvidence, ShownBlock, StatusAnswer } from '../../client/api.ts';
import type {
  AgreedBlock,
  Evidence,
  InvestigationTimes,
  NodeAnswer,
  NonceEvidence,
  SequencedCoverage,
  StatusObservation,
} from '../../domain/attempt.ts';
import { type AnyAttempt, isExpiring } from '../../solana/proof/examine.ts';
import { lastHeight } from './missing-evidence.ts';

export function presentEvidence(
  attempt: AnyAttempt,
  evidence: Evidence | NonceEvidence,
  { askedAt, judgedAt }: { readonly [K in keyof InvestigationTimes]: InvestigationTimes[K] | null },
): AttemptEvidence {
  return {
    askedAt: askedAt?.toISOString() ?? null,
    judgedAt: judgedAt?.toISOString() ?? null,
    quorum: evidence.quorum,
    ...('use' in evidence ? nonceFacts(evidence) : blockFacts(attempt, evidence)),
    statuses: evidence.statuses.map(presentStatus),
    outcomeConfirmedBy: evidence.outcomeConfirmedBy,
    chargedBy: evidence.chargedBy,
  };
}

const NO_BLOCK_FACTS = {
  lastHeight: null,
  finalizedHeights: [],
  stillTaking: [],
  blockhashBlock: null,
  displacedBy: null,
  linkedBlocks: null,
};
const NO_NONCE_FACTS = { finalizedNonces: [], nonceUsedBy: null };

function blockFacts(
  attempt: AnyAttempt,
  { finalizedHeights, stillTaking, origin, displacement, coverage }: Evidence,
) {
  return {
    ...NO_NONCE_FACTS,
    lastHeight: isExpiring(attempt) ? lastHeight(attempt, { origin }).toString() : null,
    finalizedHeights: finalizedHeights.map(({ node, sequence, answer }) => ({
      node,
      order: sequence,
      height: answer.toString(),
    })),
    stillTaking,
    blockhashBlock: origin === null ? null : presentBlock(origin),
    displacedBy:
      displacement === null
        ? null
        : {
            slot: displacement.slot.toString(),
            parentSlot: displacement.parentSlot.toString(),
            block: presentBlock(displacement.by),
            order: displacement.sequence,
          },
    linkedBlocks: presentCoverage(coverage),
  };
}

function nonceFacts({ finalizedNonces, use, bypass, coverage }: NonceEvidence) {
  const end = use ?? bypass;
  return {
    ...NO_BLOCK_FACTS,
    linkedBlocks: presentCoverage(coverage),
    finalizedNonces: finalizedNonces.map(({ node, sequence, answer }) => ({
      node,
      order: sequence,
      nonce: answer,
    })),
    nonceUsedBy:
      end === null
        ? null
        : {
            signature: end.signature,
            slot: end.slot.toString(),
            carriedNonce: use !== null,
            nodes: end.shownBy,
            order: end.sequence,
          },
  };
}

function presentCoverage(coverage: SequencedCoverage | null) {
  if (coverage === null) return null;
  const { first, last, containsSignature: holdsSignature, witnesses, sequence: order } = coverage;
  return { first: presentBlock(first), last: presentBlock(last), holdsSignature, witnesses, order };
}

function presentBlock({ slot, blockhash, height, agreeingNodes }: AgreedBlock): ShownBlock {
  return { slot: slot.toString(), blockhash, height: height.toString(), nodes: agreeingNodes };
}

function presentStatus({ node, sequence, answer }: NodeAnswer<StatusObservation>): StatusAnswer {
  const atSlot = 'atSlot' in answer ? (answer.atSlot?.toString() ?? null) : null;
  const by = { node, order: sequence, atSlot, historyFrom: null };
  switch (answer.kind) {
    case 'absent':
      return {
        ...by,
        seen: 'absent',
        slot: null,
        error: null,
        historyFrom: answer.historyFrom?.toString() ?? null,
      };
    case 'unreadable':
      return { ...by, seen: 'unreadable', slot: null, error: answer.reason };
    case 'seen':
      return { ...by, seen: answer.commitment, slot: answer.slot.toString(), error: answer.error };
    default:
      return answer satisfies never;
  }
}
