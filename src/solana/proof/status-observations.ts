import type {
  AgreedBlock,
  AttemptVerdict,
  Coverage,
  NodeAnswer,
  OutcomeEvidence,
  StatusObservation,
} from '../../domain/attempt.ts';

export type SeenBy = Extract<StatusObservation, { kind: 'seen' }> & { readonly node: string };

export function seenBy({ node, answer }: NodeAnswer<StatusObservation>): readonly SeenBy[] {
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

/** True for a null that proves absence: the node had reached `toSlot`, and has history back to `fromSlot`. */
export function isWholeNull(answer: StatusObservation, fromSlot: bigint, toSlot: bigint): boolean {
  if (answer.kind !== 'absent' || answer.atSlot === null || answer.historyFrom === null) return false;
  return answer.historyFrom <= fromSlot && answer.atSlot >= toSlot;
}

/** Null if a verdict is possible at all. */
export function judgeable(
  attempt: { readonly signature: string | null },
  { quorum }: OutcomeEvidence,
): AttemptVerdict | null {
  if (!Number.isSafeInteger(quorum) || quorum < 1)
    return unknown('the quorum is not a positive whole number');
  return attempt.signature === null
    ? unknown('no signature is stored: sign the same message again to learn it')
    : null;
}

/**
 * `landed` or `failed` if a node reports it finalized and another returns the same outcome (with a quorum of 1, the
 * same node). Null if no node reports it finalized. `refutedBy`: the proof that no finalized block can contain it, or
 * null.
 */
export function judgeFinalized(
  seen: readonly SeenBy[],
  evidence: OutcomeEvidence,
  refutedBy: string | null,
): AttemptVerdict | null {
  const finalized = seen.filter((sighting) => sighting.commitment === 'finalized');
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
  if (refutedBy !== null) return unknown(`${first.node} reports it finalized, ${refutedBy}`);
  const seconded = evidence.outcomeConfirmedBy.some(
    (confirmer) => evidence.quorum === 1 || finalized.some((witness) => witness.node !== confirmer),
  );
  if (!seconded) return { kind: 'alive', seen: 'confirmed' };
  return first.error === null
    ? { kind: 'landed', slot: first.slot }
    : { kind: 'failed', slot: first.slot, error: first.error };
}

/** Null unless linked finalized blocks contain the signature: then only its outcome is missing. */
export function judgeInclusion(coverage: Coverage | null): AttemptVerdict | null {
  return coverage?.containsSignature === true
    ? unknown('the finalized blocks hold the signature, no node shows its outcome yet')
    : null;
}

export function isAgreed({ agreeingNodes }: AgreedBlock, quorum: number): boolean {
  return new Set(agreeingNodes).size >= quorum;
}

export function countNodes(testimonies: readonly NodeAnswer<unknown>[]): number {
  return new Set(testimonies.map((testimony) => testimony.node)).size;
}

export function unknown(reason: string): AttemptVerdict {
  return { kind: 'unknown', reason };
}
