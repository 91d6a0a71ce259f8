import type {
  AttemptFacts,
  Evidence,
  NonceAttemptFacts,
  NonceEvidence,
  OutcomeEvidence,
} from '../../domain/attempt.ts';
import { lastHeight } from '../../solana/proof/attempt-evidence.ts';
import { firstBlockhash } from '../../solana/proof/judge.ts';

/** Evidence that a final verdict still needs. `node` must provide it; null if no single node can. */
export interface MissingEvidence {
  readonly node: string | null;
  readonly what: string;
}

/** Lists the evidence that a final verdict still needs. For display only: `judgeAttempt` decides. */
export function missingEvidence(
  attempt: AttemptFacts,
  evidence: Evidence,
  nodes: readonly string[],
): readonly MissingEvidence[] {
  const { finalizedHeights, stillTaking, origin, displacement, coverage, quorum } = evidence;
  const last = lastHeight(attempt, evidence);
  const heights = new Map(finalizedHeights.map(({ node, answer }) => [node, answer]));
  const missingHeights = nodes.flatMap((node): MissingEvidence[] => {
    const height = heights.get(node);
    if (height === undefined) return [{ node, what: 'the finalized block height of the node' }];
    if (height > last && stillTaking.includes(node))
      return [
        { node, what: 'the expiry of the blockhash, which the finalized bank of the node still accepts' },
      ];
    return height > last
      ? []
      : [{ node, what: `a finalized block above height ${last}: the node is at height ${height}` }];
  });
  const isPast = nodes.length - missingHeights.length >= quorum;
  const lacksBlock = isPast && origin === null && displacement === null;
  const lacksLinks = isPast && origin !== null && displacement === null && coverage === null;
  return [
    ...missingSignature(attempt),
    ...missingHeights,
    ...missingFact(lacksBlock, `the block with hash ${firstBlockhash(attempt)}, returned by ${quorum} nodes`),
    ...missingFact(lacksLinks, `linked finalized blocks up to a height above ${last}`),
    ...missingStatuses(evidence, nodes),
  ];
}

/** {@link missingEvidence} for an attempt with a durable nonce. */
export function missingNonceEvidence(
  attempt: NonceAttemptFacts,
  evidence: NonceEvidence,
  nodes: readonly string[],
): readonly MissingEvidence[] {
  const { finalizedNonces, use, bypass, coverage, quorum } = evidence;
  const nonces = new Map(finalizedNonces.map(({ node, answer }) => [node, answer]));
  const missingAdvances = nodes.flatMap((node): MissingEvidence[] => {
    const nonce = nonces.get(node);
    if (nonce === undefined) return [{ node, what: `the finalized nonce of ${attempt.nonceAccount}` }];
    return nonce === attempt.nonce
      ? [
          {
            node,
            what: `the advance of nonce account ${attempt.nonceAccount}, whose nonce is still valid on the node`,
          },
        ]
      : [];
  });
  const isAdvanced = nodes.length - missingAdvances.length >= quorum;
  const isUseAgreed = new Set((use ?? bypass)?.shownBy).size >= quorum;
  const lacksLinks = isAdvanced && isUseAgreed && use === null && coverage === null;
  return [
    ...missingSignature(attempt),
    ...missingAdvances,
    ...missingFact(
      isAdvanced && !isUseAgreed,
      `the transaction that advanced nonce account ${attempt.nonceAccount}, returned by ${quorum} nodes`,
    ),
    ...missingFact(
      lacksLinks,
      `linked finalized blocks from slot ${attempt.nonceSlot} to slot ${bypass?.slot}`,
    ),
    ...missingStatuses(evidence, nodes),
  ];
}

function missingSignature({ signature }: { readonly signature: string | null }): readonly MissingEvidence[] {
  return missingFact(signature === null, 'the signature, which is needed to query the nodes');
}

function missingFact(isMissing: boolean, what: string): readonly MissingEvidence[] {
  return isMissing ? [{ node: null, what }] : [];
}

function missingStatuses(
  { statuses, outcomeConfirmedBy }: OutcomeEvidence,
  nodes: readonly string[],
): readonly MissingEvidence[] {
  const finalized = statuses.filter(
    ({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized',
  );
  const otherNodes = nodes.length === 1 ? nodes : nodes.filter((node) => node !== finalized[0]?.node);
  const unconfirmedBy = finalized.length > 0 && outcomeConfirmedBy.length === 0 ? otherNodes : [];
  return [
    ...statuses.flatMap(({ node, answer }) =>
      answer.kind === 'unreadable'
        ? [{ node, what: `a readable status of the signature: ${answer.reason}` }]
        : [],
    ),
    ...unconfirmedBy.map((node) => ({
      node,
      what: 'a confirmation of the finalized outcome that another node returns',
    })),
  ];
}
