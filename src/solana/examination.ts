import type { Evidence, NodeTestimony, NonceEvidence, OutcomeEvidence, Verdict } from '../domain/attempt.ts';
import { isDue, judgeAttempt } from '../domain/judge.ts';
import { judgeNonceAttempt } from '../domain/judge-nonce.ts';
import type { BlockCache } from './blocks.ts';
import type { Chain } from './chain.ts';
import { askHeights } from './heights.ts';
import { investigate, type SignedAttempt } from './investigation.ts';
import {
  askNonces,
  type FinalizedNonces,
  investigateNonces,
  isUsedUp,
  type SignedNonceAttempt,
} from './nonce-investigation.ts';

/** A signed attempt of either lifetime. */
export type AnySignedAttempt = SignedAttempt | SignedNonceAttempt;

/** A verdict by the rule of the attempt's lifetime, with what it rests on. */
export interface Finding {
  readonly verdict: Verdict;
  readonly evidence: Evidence | NonceEvidence;
  readonly feeLamports: bigint | null;
  /** What nodes did not tell, with their names; null where nothing is missing. */
  readonly obstacle: string | null;
}

/** Attempts that can hardly land any more, and the answers that say so: the beginning of every proof of death. */
export interface Due<A extends AnySignedAttempt> {
  readonly attempts: readonly A[];
  readonly heights: readonly NodeTestimony<bigint>[];
  readonly nonces: FinalizedNonces;
}

/** Judges an outcome that nodes show. Proves no death. */
export function findOutcome(
  attempt: AnySignedAttempt,
  outcome: OutcomeEvidence,
  feeLamports: bigint | null,
): Finding {
  if (hasNonce(attempt)) {
    const evidence = { ...outcome, finalizedNonces: [], use: null };
    return { verdict: judgeNonceAttempt(attempt, evidence), evidence, feeLamports, obstacle: null };
  }
  const evidence = { ...outcome, finalizedHeights: [], origin: null, displacement: null, coverage: null };
  return { verdict: judgeAttempt(attempt, evidence), evidence, feeLamports, obstacle: null };
}

/** Which of the attempts have passed their last height, or lost their nonce, on any node. */
export async function findDue<A extends AnySignedAttempt>(
  chain: Chain,
  attempts: readonly A[],
): Promise<Due<A>> {
  const accounts = attempts.flatMap((attempt) => (hasNonce(attempt) ? [attempt.nonceAccount] : []));
  const expiring = accounts.length < attempts.length;
  const [heights, nonces] = await Promise.all([
    expiring ? askHeights(chain.pool, 'finalized') : [],
    askNonces(chain.pool, accounts),
  ]);
  const isOver = (attempt: A): boolean =>
    hasNonce(attempt) ? isUsedUp(attempt, nonces) : isDue(attempt, heights);
  return { attempts: attempts.filter(isOver), heights, nonces };
}

/** Gathers and judges the evidence on what is due, in the order of its attempts. */
export async function examine(
  chain: Chain,
  { attempts, heights, nonces }: Due<AnySignedAttempt>,
  cache: BlockCache,
): Promise<readonly Finding[]> {
  const lasting = attempts.filter(hasNonce);
  const expiring = attempts.filter(hasBlockhash);
  const [ofBlockhashes, ofNonces] = await Promise.all([
    investigate(chain, expiring, heights, cache),
    investigateNonces(chain, lasting, nonces),
  ]);
  const findings = new Map<AnySignedAttempt, Finding>();
  for (const [index, found] of ofBlockhashes.entries()) {
    const attempt = expiring[index];
    if (attempt !== undefined)
      findings.set(attempt, { ...found, verdict: judgeAttempt(attempt, found.evidence) });
  }
  for (const [index, found] of ofNonces.entries()) {
    const attempt = lasting[index];
    if (attempt !== undefined)
      findings.set(attempt, { ...found, verdict: judgeNonceAttempt(attempt, found.evidence) });
  }
  return attempts.flatMap((attempt) => findings.get(attempt) ?? []);
}

function hasNonce(attempt: AnySignedAttempt): attempt is SignedNonceAttempt {
  return 'nonce' in attempt;
}

function hasBlockhash(attempt: AnySignedAttempt): attempt is SignedAttempt {
  return !hasNonce(attempt);
}
