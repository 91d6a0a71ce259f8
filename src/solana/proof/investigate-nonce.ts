import pLimit from 'p-limit';
import type {
  NodeAnswer,
  NonceAttemptFacts,
  NonceBypass,
  NonceEvidence,
  StatusObservation,
} from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { partiesOf, type VerifySignature } from '../history/wallet-history.ts';
import { readNonceAccount } from '../nonces/account.ts';
import { findNonceEnd, type NonceEnd, startNonceWalk } from '../nonces/history.ts';
import { getMultipleAccounts, MAX_ACCOUNTS_PER_CALL } from '../rpc/methods.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn } from '../rpc/quorum.ts';
import type { Finding } from './examine.ts';
import { BLOCKS_LACK_IT, type Investigation, withOutcomes } from './investigate.ts';
import { judgeUnsignedNonce } from './judge-nonce.ts';
import { type BlockCache, coverageBetween } from './linked-blocks.ts';
import { UNKNOWN_SPENDING } from './spending.ts';
import { emptyOutcomeEvidence } from './status-observations.ts';

export type SignedNonceAttempt = NonceAttemptFacts & { readonly signature: string };

export type FinalizedNonces = ReadonlyMap<string, readonly NodeAnswer<string>[]>;

const MAX_CONCURRENT_READS = 8;

/** By nonce account, the finalized nonce from each node that returns one. */
export async function askNonces(pool: NodePool, accounts: readonly string[]): Promise<FinalizedNonces> {
  const found = new Map<string, NodeAnswer<string>[]>();
  for (const keys of chunksOf([...new Set(accounts)], MAX_ACCOUNTS_PER_CALL)) {
    const answers = answersIn(await pool.all((node) => getMultipleAccounts(node, keys)));
    for (const [at, { node, answer }] of answers.entries()) {
      for (const [index, key] of keys.entries()) {
        const state = readNonceAccount(answer.value[index] ?? null);
        const values = found.get(key) ?? [];
        if (state !== null) values.push({ node, sequence: 1 + at, answer: state.nonce });
        found.set(key, values);
      }
    }
  }
  return found;
}

/** True if a node's finalized nonce differs, or if no node returns one. This is not a proof that the nonce is used. */
export function isUsedUp({ nonceAccount, nonce }: NonceAttemptFacts, nonces: FinalizedNonces): boolean {
  const values = nonces.get(nonceAccount) ?? [];
  return values.length === 0 || values.some(({ answer }) => answer !== nonce);
}

/**
 * Gathers the evidence for due attempts in the order that a proof of `dead` needs: after `nonces`, the transactions
 * that ended them, then the statuses.
 */
export async function investigateNonces(
  chain: Chain,
  attempts: readonly SignedNonceAttempt[],
  nonces: FinalizedNonces,
  cache: BlockCache,
): Promise<readonly Investigation<NonceEvidence>[]> {
  const sequence = chain.pool.nodes.length + 1;
  const unfinished = await pLimit(MAX_CONCURRENT_READS).map(attempts, async (attempt) => {
    const { signature, nonceAccount } = attempt;
    const { obstacle, ...end } = await readNonceEnd(chain.pool, attempt, sequence, cache);
    const { use, coverage } = end;
    const isIncluded = use?.signature === signature || coverage?.containsSignature === true;
    const isAbsent = (use !== null || coverage !== null) && !isIncluded;
    const isUsed = (use?.shownBy.length ?? 0) >= chain.pool.quorum || coverage !== null;
    return {
      signature,
      facts: { ...end, finalizedNonces: nonces.get(nonceAccount) ?? [] },
      isIncluded,
      isAbsent,
      // A block can include the transaction without executing it, so only a success contradicts the proof that another
      // transaction used up its nonce.
      refutation: isAbsent && isUsed ? { contradicts: isSuccess, proof: proofOfAbsence(end) } : null,
      obstacles: obstacle === null ? [] : [obstacle],
    };
  });
  return withOutcomes(chain, unfinished, sequence + 1);
}

function proofOfAbsence({ use }: Pick<NonceEndEvidence, 'use'>): string {
  return use === null ? BLOCKS_LACK_IT : `a quorum returns ${use.signature}, which used up its nonce`;
}

function isSuccess({ answer }: NodeAnswer<StatusObservation>): boolean {
  return answer.kind === 'seen' && answer.error === null;
}

type NonceEndEvidence = Pick<NonceEvidence, 'use' | 'bypass' | 'coverage'> & {
  readonly obstacle: string | null;
};

/** The end of the nonce. After a bypass, also the linked blocks in which the attempt can have executed. */
async function readNonceEnd(
  pool: NodePool,
  attempt: SignedNonceAttempt,
  sequence: number,
  cache: BlockCache,
): Promise<NonceEndEvidence> {
  const { signature, nonceAccount, nonceSlot } = attempt;
  let end: NonceEnd = { use: null, bypass: null };
  try {
    const walk = await cache.walks.get(`${nonceAccount}/${attempt.nonce}`, async () => startNonceWalk());
    end = await findNonceEnd(pool, attempt, sequence, walk, cache.history.pageSize);
    const { use, bypass } = end;
    if (bypass === null || bypass.shownBy.length < pool.quorum)
      return {
        ...end,
        coverage: null,
        obstacle: use === null ? missingEndReason(nonceAccount, bypass) : null,
      };
    const coverage = await coverageBetween(pool, nonceSlot, bypass.slot, signature, cache);
    return { ...end, coverage: { ...coverage, sequence }, obstacle: null };
  } catch (error) {
    return { ...end, coverage: null, obstacle: messageOf(error) };
  }
}

function missingEndReason(nonceAccount: string, bypass: NonceBypass | null): string {
  return bypass === null
    ? `no node lists the transaction that advanced nonce account ${nonceAccount}`
    : `only ${bypass.shownBy.join(', ')} returns transaction ${bypass.signature}, which advanced nonce account ${nonceAccount}`;
}

/**
 * Examines an attempt without a known signature: reads the finalized nonces, the transaction that used up the nonce,
 * and its bytes. Null while the nonce is unused. Throws NoHealthyNode if no node returns the history of the nonce
 * account, or if the history is not read to its end yet.
 */
export async function examineUnsignedNonce(
  { pool }: Chain,
  attempt: NonceAttemptFacts & { readonly messageHash: string },
  { walks, history }: BlockCache,
  verify: VerifySignature,
): Promise<Finding | null> {
  const askedAt = new Date();
  const { nonceAccount, nonce } = attempt;
  const nonces = await askNonces(pool, [nonceAccount]);
  if (!isUsedUp(attempt, nonces)) return null;
  const walk = await walks.get(`${nonceAccount}/${nonce}`, async () => startNonceWalk());
  const end = await findNonceEnd(pool, attempt, pool.nodes.length + 1, walk, history.pageSize);
  const parties = end.use === null ? null : await partiesOf(pool, end.use.signature, verify);
  const evidence = {
    ...emptyOutcomeEvidence(pool.quorum),
    ...end,
    finalizedNonces: nonces.get(nonceAccount) ?? [],
    coverage: null,
  };
  const verdict = judgeUnsignedNonce(attempt, evidence, parties?.messageHash ?? null);
  return {
    verdict,
    evidence,
    times: { askedAt, judgedAt: new Date() },
    spending: UNKNOWN_SPENDING,
    obstacle: null,
  };
}
