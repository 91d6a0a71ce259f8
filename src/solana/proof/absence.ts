import type { NodeAnswer, StatusObservation } from '../../domain/attempt.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { getFirstAvailableBlock, getTransaction } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';

/** The first block with transactions on each node; a node that does not answer is left out. */
export type HistoryStarts = ReadonlyMap<string, bigint>;

export async function historyStarts(pool: NodePool): Promise<HistoryStarts> {
  const answers = answersIn(await pool.all(getFirstAvailableBlock));
  return new Map(answers.map(({ node, answer }) => [node, answer]));
}

/**
 * Asks every node without a status of the signature for the transaction itself, and returns the corrected answers.
 * Only a transaction that a node with history lacks in both places is absent there. With fewer nulls than a quorum
 * the answers are returned unchanged, because they prove nothing.
 * Source: docs/decisions/0012-quorum.md.
 */
export async function confirmAbsence(
  { pool }: Chain,
  signature: string,
  said: readonly NodeAnswer<StatusObservation>[],
  starts: HistoryStarts,
): Promise<readonly NodeAnswer<StatusObservation>[]> {
  if (said.filter(({ answer }) => answer.kind === 'absent').length < pool.quorum) return said;
  const answers = await pool.all((node) => getTransaction(node, signature));
  const shown = new Map(answers.map(({ node, result }) => [node, result]));
  return said.map((status) => {
    const { node, answer } = status;
    const result = shown.get(node);
    if (answer.kind !== 'absent' || result === undefined) return status;
    return { ...status, answer: lookedUp(answer, result, starts.get(node) ?? null) };
  });
}

function lookedUp(
  absent: Extract<StatusObservation, { kind: 'absent' }>,
  result: PromiseSettledResult<Awaited<ReturnType<typeof getTransaction>>>,
  historyFrom: bigint | null,
): StatusObservation {
  if (result.status === 'rejected') {
    const { reason } = result;
    return { kind: 'unreadable', reason: messageOf(reason) };
  }
  if (result.value === null) return { ...absent, historyFrom };
  const { slot, meta } = result.value;
  if (meta === null)
    return { kind: 'unreadable', reason: `getTransaction: hides its outcome in slot ${slot}` };
  return { kind: 'seen', commitment: 'finalized', slot, error: meta.err?.text ?? null, atSlot: null };
}
