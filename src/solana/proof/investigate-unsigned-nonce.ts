import type { NonceAttemptFacts } from '../../domain/attempt.ts';
import type { Chain } from '../chain.ts';
import { partiesOf, type Verify } from '../history/wallet-history.ts';
import { findNonceEnd, nonceWalk } from '../nonces/history.ts';
import type { Finding } from './examine.ts';
import { askNonces, isUsedUp } from './investigate-nonce.ts';
import { judgeUnsignedNonce } from './judge-nonce.ts';
import type { BlockCache } from './linked-blocks.ts';
import { NOT_SHOWN } from './spending.ts';

export type UnsignedNonceAttempt = Omit<NonceAttemptFacts, 'signature'> & {
  /** Hex SHA-256 of the message. */
  readonly messageHash: string;
};

/**
 * Gathers the evidence for a death without a signature: the finalized nonces, the transaction that used up the nonce,
 * and its bytes. Null while the nonce is unused. Throws NoHealthyNode if no node lists the transaction that used it
 * up.
 */
export async function examineUnsignedNonce(
  { pool }: Chain,
  attempt: UnsignedNonceAttempt,
  { walks, history }: BlockCache,
  verify: Verify,
): Promise<Finding | null> {
  const askedAt = new Date();
  const { nonceAccount, nonce } = attempt;
  const facts = { ...attempt, signature: null };
  const nonces = await askNonces(pool, [nonceAccount]);
  if (!isUsedUp(facts, nonces)) return null;
  const walk = await walks.get(`${nonceAccount}/${nonce}`, async () => nonceWalk());
  const end = await findNonceEnd(pool, facts, pool.nodes.length + 1, walk, history.pageSize);
  const parties = end.use === null ? null : await partiesOf(pool, end.use.signature, verify);
  const outcome = { quorum: pool.quorum, statuses: [], outcomeConfirmedBy: [], chargedBy: [] };
  const evidence = {
    ...outcome,
    ...end,
    finalizedNonces: nonces.get(nonceAccount) ?? [],
    coverage: null,
  };
  const verdict = judgeUnsignedNonce(facts, evidence, parties?.messageHash ?? null);
  return { verdict, evidence, times: { askedAt, judgedAt: new Date() }, spending: NOT_SHOWN, obstacle: null };
}
