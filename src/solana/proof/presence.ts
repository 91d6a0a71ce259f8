import type { NodePool } from '../rpc/pool.ts';
import { agree, answersIn } from '../rpc/quorum.ts';
import { readStatuses } from './statuses.ts';

/**
 * Status of a transaction at the nodes of a pool. `seen`: at least one node has it; `isAgreed` if a quorum has it;
 * `failure` is its error if a quorum reports that it failed in a finalized block. `unknown`: no node answers.
 */
export type Presence =
  | { readonly kind: 'seen'; readonly isAgreed: boolean; readonly failure: string | null }
  | { readonly kind: 'absent' | 'unknown' };

/** Asks all nodes for the status of a transaction. Without `searchHistory`, nodes search only recent statuses. */
export async function presenceOf(
  pool: NodePool,
  signature: string,
  searchHistory: boolean,
): Promise<Presence> {
  const answers = answersIn(await pool.all((node) => readStatuses(node, [signature], searchHistory)));
  if (answers.length === 0) return { kind: 'unknown' };
  const seen = answers.flatMap(({ node, answer: [status] }) =>
    status?.kind === 'seen' ? [{ node, answer: status }] : [],
  );
  if (seen.length === 0)
    return { kind: answers.some(({ answer: [status] }) => status?.kind === 'absent') ? 'absent' : 'unknown' };
  const failures = seen.flatMap(({ node, answer: { commitment, error } }) =>
    commitment === 'finalized' && error !== null ? [{ node, answer: error }] : [],
  );
  const isAgreed = seen.length >= pool.quorum;
  return { kind: 'seen', isAgreed, failure: agree(failures, pool.quorum)?.answer ?? null };
}
