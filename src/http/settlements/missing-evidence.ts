import type {
  AttemptFacts,
  Evidence,
  NonceAttemptFacts,
  NonceEvidence,
  OutcomeEvidence,
} from '../../domain/attempt.ts';
import { lastHeight } from '../../solana/proof/attempt-evidence.ts';
import { firstHash } from '../../solana/proof/judge.ts';

/** Missing evidence for a final verdict, and the node to provide it; null if no single node can. */
export interface Missing {
  readonly node: string | null;
  readonly what: string;
}

/** Missing evidence for a final verdict, by node. `nodes`: all configured. For display only: the judge decides. */
export function missingOf(
  attempt: AttemptFacts,
  evidence: Evidence,
  nodes: readonly string[],
): readonly Missing[] {
  const { finalizedHeights, stillTaking, origin, displacement, coverage, quorum } = evidence;
  const last = lastHeight(attempt, evidence);
  const heights = new Map(finalizedHeights.map(({ node, answer }) => [node, answer]));
  const behind = nodes.flatMap((node): Missing[] => {
    const height = heights.get(node);
    if (height === undefined) return [{ node, what: 'its finalized block height' }];
    if (height > last && stillTaking.includes(node))
      return [{ node, what: 'the end of its blockhash, which its finalized bank still takes' }];
    return height > last ? [] : [{ node, what: `finalized blocks above ${last}: it has come to ${height}` }];
  });
  const isPast = nodes.length - behind.length >= quorum;
  const lacksBlock = isPast && origin === null && displacement === null;
  const lacksLinks = isPast && origin !== null && displacement === null && coverage === null;
  return [
    ...unsigned(attempt),
    ...behind,
    ...ofNobody(lacksBlock, `the block of blockhash ${firstHash(attempt)}, shown by ${quorum} nodes`),
    ...ofNobody(lacksLinks, `linked finalized blocks up to above ${last}`),
    ...ofStatuses(evidence, nodes),
  ];
}

/** {@link missingOf} for an attempt with a durable nonce. */
export function missingOfNonce(
  attempt: NonceAttemptFacts,
  evidence: NonceEvidence,
  nodes: readonly string[],
): readonly Missing[] {
  const { finalizedNonces, use, bypass, coverage, quorum } = evidence;
  const nonces = new Map(finalizedNonces.map(({ node, answer }) => [node, answer]));
  const standing = nodes.flatMap((node): Missing[] => {
    const nonce = nonces.get(node);
    if (nonce === undefined) return [{ node, what: `the finalized nonce of ${attempt.nonceAccount}` }];
    return nonce === attempt.nonce ? [{ node, what: 'the end of its nonce, which still stands' }] : [];
  });
  const isGone = nodes.length - standing.length >= quorum;
  const shown = new Set((use ?? bypass)?.shownBy).size >= quorum;
  const lacksLinks = isGone && shown && use === null && coverage === null;
  return [
    ...unsigned(attempt),
    ...standing,
    ...ofNobody(isGone && !shown, `the transaction that used up its nonce, shown by ${quorum} nodes`),
    ...ofNobody(lacksLinks, `linked finalized blocks from ${attempt.nonceSlot} to ${bypass?.slot}`),
    ...ofStatuses(evidence, nodes),
  ];
}

function unsigned({ signature }: { readonly signature: string | null }): readonly Missing[] {
  return ofNobody(signature === null, 'the signature, by which nodes are asked');
}

function ofNobody(isMissing: boolean, what: string): readonly Missing[] {
  return isMissing ? [{ node: null, what }] : [];
}

/** A second confirmation of a finalized outcome, and readable statuses. */
function ofStatuses(
  { statuses, outcomeConfirmedBy }: OutcomeEvidence,
  nodes: readonly string[],
): readonly Missing[] {
  const witnesses = statuses.filter(
    ({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized',
  );
  const seconds = nodes.length === 1 ? nodes : nodes.filter((node) => node !== witnesses[0]?.node);
  const unseconded = witnesses.length > 0 && outcomeConfirmedBy.length === 0 ? seconds : [];
  return [
    ...statuses.flatMap(({ node, answer }) =>
      answer.kind === 'unreadable' ? [{ node, what: `the status of its signature: ${answer.reason}` }] : [],
    ),
    ...unseconded.map((node) => ({ node, what: 'the finalized outcome that another node shows' })),
  ];
}
