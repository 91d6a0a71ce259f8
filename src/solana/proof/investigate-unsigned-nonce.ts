import type { NonceAttemptFacts } from '../../domain/attempt.ts';
import type { Chain } from '../chain.ts';
import { partiesOf, type Verify } from '../history/wallet-history.ts';
import { findNonceEnd, nonceWalk } from '../nonces/history.ts';
import type { Finding } from './examine.ts';
import { askNonces, isUsedUp } from './investigate-nonce.ts';
import { judgeUnsignedNonce } from './judge-nonce.ts';
import type { BlockCache } from './linked-blocks.ts';
import { NOT_SHOWN } from './spending.ts';

/** An attempt with a durable nonce that is prepared, and of which no signature is on record. */
export type UnsignedNonceAttempt = Omit<NonceAttemptFacts, 'signature'> & {
  /** Hex sha256 of the message. */
  readonly messageHash: string;
};

/**
 * Everything that a proof of death without a signature needs: the finalized nonces, the transaction that used the nonce up, and the bytes of
 * that. Null while the nonce stands. Throws NoHealthyNode where no node lists what used it up.
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
