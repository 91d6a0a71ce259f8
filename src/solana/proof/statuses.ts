import type { NodeAnswer, StatusObservation } from '../../domain/attempt.ts';
import { messageOf } from '../../domain/errors.ts';
import { getFirstAvailableBlock, getSignatureStatuses, getTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import type { SignatureStatus } from '../rpc/schemas.ts';

export const STATUSES_PER_CALL = 256;

/** A node's statuses of at most 256 signatures, in order. `history`: the node searches its whole history. */
export async function readStatuses(
  node: SolanaNode,
  signatures: readonly string[],
  history: boolean,
): Promise<StatusObservation[]> {
  const { context, value } = await getSignatureStatuses(node, signatures, history);
  return value.map((status) => observationOf(status, context.slot));
}

/** The nodes without history: their nulls prove nothing. */
export function nodesWithoutHistory(pool: Pick<NodePool, 'report'>): ReadonlySet<string> {
  return new Set(pool.report().flatMap(({ node, history }) => (history === 'off' ? [node] : [])));
}

/** A status as evidence. A missing `confirmations` field never means finalized: the field must be null. */
export function observationOf(status: SignatureStatus | null, atSlot: bigint): StatusObservation {
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

/** The first block with transactions on each node; a node that does not answer is left out. */
export async function historyStarts(pool: NodePool): Promise<ReadonlyMap<string, bigint>> {
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
  pool: NodePool,
  signature: string,
  statuses: readonly NodeAnswer<StatusObservation>[],
  starts: ReadonlyMap<string, bigint>,
): Promise<readonly NodeAnswer<StatusObservation>[]> {
  if (statuses.filter(({ answer }) => answer.kind === 'absent').length < pool.quorum) return statuses;
  const answers = await pool.all((node) => getTransaction(node, signature));
  const shown = new Map(answers.map(({ node, result }) => [node, result]));
  return statuses.map((status) => {
    const { node, answer } = status;
    const result = shown.get(node);
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
  if (meta === null) return { kind: 'unreadable', reason: `getTransaction: returns no meta in slot ${slot}` };
  return { kind: 'seen', commitment: 'finalized', slot, error: meta.err?.text ?? null, atSlot: null };
}
