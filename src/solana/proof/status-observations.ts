import type {
  AgreedBlock,
  AttemptVerdict,
  Coverage,
  NodeAnswer,
  OutcomeEvidence,
  StatusObservation,
} from '../../domain/attempt.ts';
import { isAbove, type Slot } from '../../domain/units.ts';

/** Evidence without any status. */
export function noOutcome(quorum: number): OutcomeEvidence {
  return { quorum, statuses: [], outcomeConfirmedBy: [], chargedBy: [] };
}

export type SeenBy = Extract<StatusObservation, { kind: 'seen' }> & { readonly node: string };

export function seenBy({ node, answer }: NodeAnswer<StatusObservation>): readonly SeenBy[] {
  return answer.kind === 'seen' ? [{ ...answer, node }] : [];
}

/** True for a null that proves absence: the node had reached `toSlot`, and has history back to `fromSlot`. */
export function provesAbsence(answer: StatusObservation, fromSlot: Slot, toSlot: Slot): boolean {
  if (answer.kind !== 'absent' || answer.atSlot === null || answer.historyFrom === null) return false;
  return !isAbove(answer.historyFrom, fromSlot) && !isAbove(toSlot, answer.atSlot);
}

/** For each node with a matching answer, the sequence of the first one. */
export function firstMatches<T>(
  answers: readonly NodeAnswer<T>[],
  isMatch: (answer: NodeAnswer<T>) => boolean,
): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const answer of answers.filter(isMatch))
    first.set(answer.node, Math.min(answer.sequence, first.get(answer.node) ?? answer.sequence));
  return first;
}

/** The sequence at which `quorum` nodes had a matching answer; undefined if fewer have one. */
export function quorumAt(first: ReadonlyMap<string, number>, quorum: number): number | undefined {
  return [...first.values()].sort((a, b) => a - b)[quorum - 1];
}

/** Proof that no finalized block contains the attempt. A null counts only after `sequence`, from `toSlot` or later. */
export interface Refutation {
  readonly sequence: number;
  readonly toSlot: Slot;
}

/**
 * The nodes of `past` whose later answers are all null, from histories back to `fromSlot`. Later: after the node's own
 * match, after the quorum had one, and after the refutation.
 */
export function nodesProvingAbsence(
  past: ReadonlyMap<string, number>,
  { statuses, quorum }: OutcomeEvidence,
  { sequence, toSlot }: Refutation,
  fromSlot: Slot,
): readonly string[] {
  const after = Math.max(quorumAt(past, quorum) ?? Number.POSITIVE_INFINITY, sequence);
  return [...past].flatMap(([node, own]) => {
    const bound = Math.max(after, own);
    const late = statuses.filter((status) => status.node === node && status.sequence > bound);
    const isSilent = late.length > 0 && late.every(({ answer }) => provesAbsence(answer, fromSlot, toSlot));
    return isSilent ? [node] : [];
  });
}

/** `alive`, seen on a fork that is not refuted. */
export function aliveOnFork(seen: readonly SeenBy[]): AttemptVerdict {
  const isConfirmed = seen.some(({ commitment }) => commitment === 'confirmed');
  return { kind: 'alive', seen: isConfirmed ? 'confirmed' : 'processed' };
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
  const finalized = seen.filter(({ commitment }) => commitment === 'finalized');
  const [first] = finalized;
  if (first === undefined) {
    return evidence.outcomeConfirmedBy.length === 0
      ? null
      : unknown('nodes return an outcome, but no status reports the transaction as finalized');
  }
  if (
    finalized.some((other) => other.slot !== first.slot || (other.error === null) !== (first.error === null))
  ) {
    return unknown('nodes report different finalized outcomes');
  }
  if (refutedBy !== null) return unknown(`${first.node} reports it finalized, ${refutedBy}`);
  const isConfirmed = evidence.outcomeConfirmedBy.some(
    (confirmer) => evidence.quorum === 1 || finalized.some(({ node }) => node !== confirmer),
  );
  if (!isConfirmed) return { kind: 'alive', seen: 'confirmed' };
  return first.error === null
    ? { kind: 'landed', slot: first.slot }
    : { kind: 'failed', slot: first.slot, error: first.error };
}

/** Null unless linked finalized blocks contain the signature: then only its outcome is missing. */
export function judgeInclusion(coverage: Coverage | null): AttemptVerdict | null {
  return coverage?.containsSignature === true
    ? unknown('the finalized blocks contain the signature, and no node returns its outcome yet')
    : null;
}

export function isAgreed({ agreeingNodes }: AgreedBlock, quorum: number): boolean {
  return new Set(agreeingNodes).size >= quorum;
}

export function countNodes(answers: readonly NodeAnswer<unknown>[]): number {
  return new Set(answers.map(({ node }) => node)).size;
}

export function unknown(reason: string): AttemptVerdict {
  return { kind: 'unknown', reason };
}
