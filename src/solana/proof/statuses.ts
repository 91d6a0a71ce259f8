import type { NodeAnswer, StatusObservation } from '../../domain/attempt.ts';
import { messageOf } from '../../domain/errors.ts';
import { getFirstAvailableBlock, getSignatureStatuses, getTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import type { SignatureStatus } from '../rpc/schemas.ts';

export const STATUSES_PER_CALL = 256;

/**
 * A node's statuses of at most 256 signatures, in the order of `signatures`. Without `searchHistory`, the node searches
 * only its recent status cache.
 */
export async function readStatuses(
  node: SolanaNode,
  signatures: readonly string[],
  searchHistory: boolean,
): Promise<StatusObservation[]> {
  const { context, value } = await getSignatureStatuses(node, signatures, searchHistory);
  return value.map((status) => observationOf(status, context.slot));
}

/** The nodes that store no transaction history: their null answers prove nothing. */
export function nodesWithoutHistory(pool: Pick<NodePool, 'report'>): ReadonlySet<string> {
  return new Set(pool.report().flatMap(({ node, history }) => (history === 'off' ? [node] : [])));
}

/** A status as evidence. `confirmations` means finalized only if it is null, not if it is missing. */
function observationOf(status: SignatureStatus | null, atSlot: bigint): StatusObservation {
  if (status === null) return { kind: 'absent', atSlot, historyFrom: null };
  const { slot, confirmations, confirmationStatus } = status;
  const commitment = confirmationStatus ?? (confirmations === null ? 'finalized' : 'processed');
  if (!confirmationStatus && confirmations === undefined) {
    return {
      kind: 'unreadable',
      reason: 'getSignatureStatuses: confirmationStatus and confirmations are missing',
    };
  }
  return { kind: 'seen', commitment, slot, error: status.err?.text ?? null, atSlot };
}

/** By node, the first block whose transactions the node stores. Excludes nodes that do not answer. */
export async function historyStarts(pool: NodePool): Promise<ReadonlyMap<string, bigint>> {
  const answers = answersIn(await pool.all(getFirstAvailableBlock));
  return new Map(answers.map(({ node, answer }) => [node, answer]));
}

/**
 * Requests the transaction itself from every node without a status of its signature, and returns the corrected answers:
 * a transaction is absent only if getTransaction returns null as well. If fewer than a quorum of nodes have no status,
 * the answers are returned unchanged, because they cannot prove absence.
 * Source: docs/decisions/0012-quorum.md.
 */
export async function confirmAbsence(
  pool: NodePool,
  signature: string,
  statuses: readonly NodeAnswer<StatusObservation>[],
  starts: ReadonlyMap<string, bigint>,
): Promise<readonly NodeAnswer<StatusObservation>[]> {
  if (statuses.filter(({ answer }) => answer.kind === 'absent').length < pool.quorum) return statuses;
  const answers = await pool.all((node) => getTransaction(node, signature));
  const results = new Map(answers.map(({ node, result }) => [node, result]));
  return statuses.map((status) => {
    const { node, answer } = status;
    const result = results.get(node);
    if (answer.kind !== 'absent' || result === undefined) return status;
    return { ...status, answer: correctedStatus(answer, result, starts.get(node) ?? null) };
  });
}

function correctedStatus(
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
    return {
      kind: 'unreadable',
      reason: `getTransaction: returns the transaction of slot ${slot} without meta`,
    };
  return { kind: 'seen', commitment: 'finalized', slot, error: meta.err?.text ?? null, atSlot: null };
}
