import type { NodeTestimony, Sighting } from '../../domain/attempt.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { getFirstAvailableBlock, getTransaction } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';

/** From which block on each node has transactions; one that does not tell is left out. */
export type HistoryStarts = ReadonlyMap<string, bigint>;

export async function historyStarts(pool: NodePool): Promise<HistoryStarts> {
  const answers = await pool.all(getFirstAvailableBlock);
  return new Map(
    answers.flatMap(({ node, result }) => (result.status === 'fulfilled' ? [[node, result.value]] : [])),
  );
}

/**
 * The same answers, after every node that has no status of the signature was asked for the transaction itself: only what a node with
 * history lacks there, too, is known to be absent. Fewer than a quorum of nulls prove nothing, and are not looked into.
 * Source: docs/decisions/0012-quorum.md.
 */
export async function confirmAbsence(
  { pool }: Chain,
  signature: string,
  said: readonly NodeTestimony<Sighting>[],
  starts: HistoryStarts,
): Promise<readonly NodeTestimony<Sighting>[]> {
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
  absent: Extract<Sighting, { kind: 'absent' }>,
  result: PromiseSettledResult<Awaited<ReturnType<typeof getTransaction>>>,
  historyFrom: bigint | null,
): Sighting {
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
