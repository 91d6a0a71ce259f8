import type {
  AgreedBlock,
  AttemptVerdict,
  Coverage,
  NodeAnswer,
  OutcomeEvidence,
  StatusObservation,
} from '../../domain/attempt.ts';
import { isAbove, type Slot } from '../../domain/units.ts';

export function emptyOutcomeEvidence(quorum: number): OutcomeEvidence {
  return { quorum, statuses: [], outcomeConfirmedBy: [], chargedBy: [] };
}

export type SeenStatus = Extract<StatusObservation, { kind: 'seen' }> & { readonly node: string };

export function seenStatuses({ node, answer }: NodeAnswer<StatusObservation>): readonly SeenStatus[] {
  return answer.kind === 'seen' ? [{ ...answer, node }] : [];
}

/** True for a null answer of a node that had reached `toSlot` and has history back to `fromSlot`. */
export function provesAbsence(answer: StatusObservation, fromSlot: Slot, toSlot: Slot): boolean {
  if (answer.kind !== 'absent' || answer.atSlot === null || answer.historyFrom === null) return false;
  return !isAbove(answer.historyFrom, fromSlot) && !isAbove(toSlot, answer.atSlot);
}

/** For each node with a matching answer, the sequence of the first one. */
export function firstMatches<T>(
  answers: readonly NodeAnswer<T>[],
  isMatch: (answer: NodeAnswer<T>) => boolean,
): ReadonlyMap<string, number> {
  const sequences = new Map<string, number>();
  for (const answer of answers.filter(isMatch))
    sequences.set(answer.node, Math.min(answer.sequence, sequences.get(answer.node) ?? answer.sequence));
  return sequences;
}

/** Sequence by which `quorum` nodes had a matching answer; undefined if fewer nodes have one. */
function quorumSequence(sequences: ReadonlyMap<string, number>, quorum: number): number | undefined {
  return [...sequences.values()].sort((a, b) => a - b)[quorum - 1];
}

/** Proof that no finalized block contains the attempt. A null counts only after `sequence`, at `toSlot` or later. */
export interface Refutation {
  readonly sequence: number;
  readonly toSlot: Slot;
}

/**
 * The nodes of `matches` whose later answers are all null, from histories that reach back to `fromSlot`. An answer is
 * later if it follows the node's own match, the quorum's matches, and the refutation.
 */
export function nodesProvingAbsence(
  matches: ReadonlyMap<string, number>,
  { statuses, quorum }: OutcomeEvidence,
  { sequence, toSlot }: Refutation,
  fromSlot: Slot,
): readonly string[] {
  const after = Math.max(quorumSequence(matches, quorum) ?? Number.POSITIVE_INFINITY, sequence);
  return [...matches].flatMap(([node, sequenceOfMatch]) => {
    const from = Math.max(after, sequenceOfMatch);
    const laterStatuses = statuses.filter((status) => status.node === node && status.sequence > from);
    const isAbsent =
      laterStatuses.length > 0 &&
      laterStatuses.every(({ answer }) => provesAbsence(answer, fromSlot, toSlot));
    return isAbsent ? [node] : [];
  });
}

export function aliveOnFork(reports: readonly SeenStatus[]): AttemptVerdict {
  const isConfirmed = reports.some(({ commitment }) => commitment === 'confirmed');
  return { kind: 'alive', seen: isConfirmed ? 'confirmed' : 'processed' };
}

/** Returns `unknown` if the inputs permit no verdict, else null. */
export function judgePreconditions(
  attempt: { readonly signature: string | null },
  { quorum }: OutcomeEvidence,
): AttemptVerdict | null {
  if (!Number.isSafeInteger(quorum) || quorum < 1)
    return unknownVerdict('the quorum is not a positive whole number');
  return attempt.signature === null
    ? unknownVerdict('no signature of the attempt is stored: sign the same message again')
    : null;
}

/**
 * Returns `landed` or `failed` if a node reports the transaction as finalized and another node returns the same outcome
 * (with a quorum of 1, the same node). Null if no node reports the transaction as finalized. `refutedBy`: proof that no
 * finalized block can contain the transaction, as a clause that begins with "but"; null if there is none.
 */
export function judgeFinalized(
  reports: readonly SeenStatus[],
  evidence: OutcomeEvidence,
  refutedBy: string | null,
): AttemptVerdict | null {
  const finalized = reports.filter(({ commitment }) => commitment === 'finalized');
  const [first] = finalized;
  if (first === undefined) {
    return evidence.outcomeConfirmedBy.length === 0
      ? null
      : unknownVerdict('nodes return an outcome, but no node reports the transaction as finalized');
  }
  if (
    finalized.some((other) => other.slot !== first.slot || (other.error === null) !== (first.error === null))
  ) {
    return unknownVerdict('nodes report different finalized outcomes of the transaction');
  }
  if (refutedBy !== null)
    return unknownVerdict(`${first.node} reports the transaction as finalized, ${refutedBy}`);
  const isConfirmed = evidence.outcomeConfirmedBy.some(
    (confirmer) => evidence.quorum === 1 || finalized.some(({ node }) => node !== confirmer),
  );
  if (!isConfirmed) return { kind: 'alive', seen: 'confirmed' };
  return first.error === null
    ? { kind: 'landed', slot: first.slot }
    : { kind: 'failed', slot: first.slot, error: first.error };
}

/**
 * Returns `unknown` if the linked finalized blocks contain the signature, because its outcome is missing. Else null.
 */
export function judgeInclusion(coverage: Coverage | null): AttemptVerdict | null {
  return coverage?.containsSignature === true
    ? unknownVerdict('the finalized blocks contain the transaction, but no node returns its outcome yet')
    : null;
}

export function isAgreed({ agreeingNodes }: AgreedBlock, quorum: number): boolean {
  return new Set(agreeingNodes).size >= quorum;
}

export function countNodes(answers: readonly NodeAnswer<unknown>[]): number {
  return new Set(answers.map(({ node }) => node)).size;
}

export function unknownVerdict(reason: string): AttemptVerdict {
  return { kind: 'unknown', reason };
}
