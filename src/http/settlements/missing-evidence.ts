import type {
  AttemptFacts,
  Evidence,
  NonceAttemptFacts,
  NonceEvidence,
  OutcomeEvidence,
} from '../../domain/attempt.ts';
import { lastHeight } from '../../solana/proof/attempt-evidence.ts';
import { firstBlockhash } from '../../solana/proof/judge.ts';

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
      return [{ node, what: 'the expiry of its blockhash, which its finalized bank still accepts' }];
    return height > last ? [] : [{ node, what: `finalized blocks above ${last}: it is at ${height}` }];
  });
  const isPast = nodes.length - behind.length >= quorum;
  const lacksBlock = isPast && origin === null && displacement === null;
  const lacksLinks = isPast && origin !== null && displacement === null && coverage === null;
  return [
    ...unsigned(attempt),
    ...behind,
    ...missingFact(
      lacksBlock,
      `the block of blockhash ${firstBlockhash(attempt)}, returned by ${quorum} nodes`,
    ),
    ...missingFact(lacksLinks, `linked finalized blocks to above height ${last}`),
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
  const unadvanced = nodes.flatMap((node): Missing[] => {
    const nonce = nonces.get(node);
    if (nonce === undefined) return [{ node, what: `the finalized nonce of ${attempt.nonceAccount}` }];
    return nonce === attempt.nonce
      ? [{ node, what: 'the advance of its nonce, which is still valid there' }]
      : [];
  });
  const isGone = nodes.length - unadvanced.length >= quorum;
  const isUseAgreed = new Set((use ?? bypass)?.shownBy).size >= quorum;
  const lacksLinks = isGone && isUseAgreed && use === null && coverage === null;
  return [
    ...unsigned(attempt),
    ...unadvanced,
    ...missingFact(
      isGone && !isUseAgreed,
      `the transaction that used up its nonce, returned by ${quorum} nodes`,
    ),
    ...missingFact(lacksLinks, `linked finalized blocks from ${attempt.nonceSlot} to ${bypass?.slot}`),
    ...ofStatuses(evidence, nodes),
  ];
}

function unsigned({ signature }: { readonly signature: string | null }): readonly Missing[] {
  return missingFact(signature === null, 'the signature, which is needed to query the nodes');
}

function missingFact(isMissing: boolean, what: string): readonly Missing[] {
  return isMissing ? [{ node: null, what }] : [];
}

/** A second confirmation of a finalized outcome, and readable statuses. */
function ofStatuses(
  { statuses, outcomeConfirmedBy }: OutcomeEvidence,
  nodes: readonly string[],
): readonly Missing[] {
  const finalized = statuses.filter(
    ({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized',
  );
  const seconds = nodes.length === 1 ? nodes : nodes.filter((node) => node !== finalized[0]?.node);
  const unseconded = finalized.length > 0 && outcomeConfirmedBy.length === 0 ? seconds : [];
  return [
    ...statuses.flatMap(({ node, answer }) =>
      answer.kind === 'unreadable' ? [{ node, what: `the status of its signature: ${answer.reason}` }] : [],
    ),
    ...unseconded.map((node) => ({
      node,
      what: 'a confirmation of the finalized outcome that another node returns',
    })),
  ];
}
