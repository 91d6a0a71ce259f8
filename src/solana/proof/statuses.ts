import type { StatusObservation } from '../../domain/attempt.ts';
import { NodeFault } from '../rpc/errors.ts';
import { getSignatureStatuses } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import type { SignatureStatus } from '../rpc/schemas.ts';

export const STATUSES_PER_CALL = 256;

/** A node's statuses of at most 256 signatures, in order. `history`: the node searches its whole history. */
export async function readStatuses(
  node: SolanaNode,
  signatures: readonly string[],
  history: boolean,
): Promise<StatusObservation[]> {
  const { context, value } = await getSignatureStatuses(node, signatures, history);
  if (value.length !== signatures.length) {
    throw new NodeFault(
      node.name,
      `getSignatureStatuses: value has ${value.length} entries for ${signatures.length} signatures`,
    );
  }
  return value.map((status) => observationOf(status, context.slot));
}

/** The nodes without history: their nulls prove nothing. */
export function forgetfulNodes(pool: Pick<NodePool, 'report'>): ReadonlySet<string> {
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
      reason: 'getSignatureStatuses: neither confirmationStatus nor confirmations is there',
    };
  }
  return { kind: 'seen', commitment, slot, error: status.err?.text ?? null, atSlot };
}
