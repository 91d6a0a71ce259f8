import type {
  AttemptVerdict,
  Evidence,
  InvestigationTimes,
  NodeAnswer,
  NonceEvidence,
  OutcomeEvidence,
} from '../../domain/attempt.ts';
import type { Chain } from '../chain.ts';
import { askHeights } from './heights.ts';
import { investigate, type SignedAttempt } from './investigate.ts';
import {
  askNonces,
  type FinalizedNonces,
  investigateNonces,
  isUsedUp,
  type SignedNonceAttempt,
} from './investigate-nonce.ts';
import { isDue, judgeAttempt } from './judge.ts';
import { judgeNonceAttempt } from './judge-nonce.ts';
import type { BlockCache } from './linked-blocks.ts';
import { NOT_SHOWN, type Spending } from './spending.ts';

export type AnySignedAttempt = SignedAttempt | SignedNonceAttempt;

type Unsigned<A extends AnySignedAttempt> = Omit<A, 'signature'> & { readonly signature: string | null };
export type AnyAttempt = Unsigned<SignedAttempt> | Unsigned<SignedNonceAttempt>;

/** The lifetime columns of an attempt row. With a nonce account, `blockhash` is the nonce value. */
export interface RecordedLifetime {
  readonly blockhash: string;
  readonly blockhashSlot: bigint;
  readonly blockhashHeight: bigint | null;
  readonly lastValidBlockHeight: bigint | null;
  readonly adoptedFrom: string | null;
  readonly nonceAccount: string | null;
}

export interface Finding {
  readonly verdict: AttemptVerdict;
  readonly evidence: Evidence | NonceEvidence;
  readonly times: InvestigationTimes;
  readonly spending: Spending;
  /** The answers that are missing, with node names; null if none is missing. */
  readonly obstacle: string | null;
}

/** The first step of every proof of death: attempts past their last height, or without their nonce, on some node. */
export interface Due<A extends AnyAttempt> {
  readonly attempts: readonly A[];
  readonly heights: readonly NodeAnswer<bigint>[];
  readonly nonces: FinalizedNonces;
  readonly askedAt: Date;
}

export function attemptOfRow<S extends string | null>(row: RecordedLifetime, signature: S) {
  const { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, adoptedFrom, nonceAccount } = row;
  if (nonceAccount !== null) return { signature, nonceAccount, nonce: blockhash, nonceSlot: blockhashSlot };
  if (blockhashHeight === null || lastValidBlockHeight === null)
    throw new Error('an attempt without a nonce account has heights: the database checks it');
  return { signature, blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, adoptedFrom };
}

/** Judges a finalized outcome. Proves no death. */
export function findOutcome(
  attempt: AnyAttempt,
  outcome: OutcomeEvidence,
  askedAt: Date,
  spending: Spending,
): Finding {
  const told = { times: timesSince(askedAt), spending, obstacle: null };
  if (hasNonce(attempt)) {
    const evidence = { ...outcome, finalizedNonces: [], use: null, bypass: null, coverage: null };
    return { ...told, verdict: judgeNonceAttempt(attempt, evidence), evidence };
  }
  const unread = { stillTaking: [], origin: null, displacement: null, coverage: null };
  const evidence = { ...outcome, ...unread, finalizedHeights: [] };
  return { ...told, verdict: judgeAttempt(attempt, evidence), evidence };
}

/** Selects the attempts that are past their last height, or lost their nonce, on any node. */
export async function findDue<A extends AnyAttempt>(chain: Chain, attempts: readonly A[]): Promise<Due<A>> {
  const askedAt = new Date();
  const accounts = attempts.flatMap((attempt) => (hasNonce(attempt) ? [attempt.nonceAccount] : []));
  const expiring = accounts.length < attempts.length;
  const [heights, nonces] = await Promise.all([
    expiring ? askHeights(chain.pool, 'finalized') : [],
    askNonces(chain.pool, accounts),
  ]);
  const isOver = (attempt: AnyAttempt): boolean =>
    hasNonce(attempt) ? isUsedUp(attempt, nonces) : isDue(attempt, heights);
  return { attempts: attempts.filter(isOver), heights, nonces, askedAt };
}

/** Gathers and judges the evidence for due attempts. Results are in the order of `attempts`. */
export async function examine(
  chain: Chain,
  { attempts, heights, nonces, askedAt }: Due<AnySignedAttempt>,
  cache: BlockCache,
): Promise<readonly Finding[]> {
  const lasting = attempts.filter(hasNonce);
  const expiring = attempts.filter(isExpiring);
  const [ofBlockhashes, ofNonces] = await Promise.all([
    investigate(chain, expiring, heights, cache),
    investigateNonces(chain, lasting, nonces, cache),
  ]);
  const times = timesSince(askedAt);
  const findings = new Map<AnySignedAttempt, Finding>();
  for (const [index, found] of ofBlockhashes.entries()) {
    const attempt = expiring[index];
    if (attempt !== undefined)
      findings.set(attempt, { ...found, times, verdict: judgeAttempt(attempt, found.evidence) });
  }
  for (const [index, found] of ofNonces.entries()) {
    const attempt = lasting[index];
    if (attempt !== undefined)
      findings.set(attempt, { ...found, times, verdict: judgeNonceAttempt(attempt, found.evidence) });
  }
  return attempts.flatMap((attempt) => findings.get(attempt) ?? []);
}

/** Asks all nodes now about one attempt, due or not. Reads only: sends and signs nothing. */
export async function examineNow(chain: Chain, attempt: AnyAttempt, cache: BlockCache): Promise<Finding> {
  const due = await findDue(chain, [attempt]);
  if (isSigned(attempt)) {
    const [finding] = await examine(chain, { ...due, attempts: [attempt] }, cache);
    if (finding !== undefined) return finding;
  }
  const outcome = { quorum: chain.pool.quorum, statuses: [], outcomeConfirmedBy: [], chargedBy: [] };
  const { evidence, ...finding } = findOutcome(attempt, outcome, due.askedAt, NOT_SHOWN);
  return { ...finding, evidence: withFirstAnswers(evidence, attempt, due) };
}

/** Adds the answers of the first step: without a signature, nothing else can be asked. */
function withFirstAnswers(
  evidence: Evidence | NonceEvidence,
  attempt: AnyAttempt,
  { heights, nonces }: Due<AnyAttempt>,
): Evidence | NonceEvidence {
  if ('use' in evidence)
    return {
      ...evidence,
      finalizedNonces: hasNonce(attempt) ? (nonces.get(attempt.nonceAccount) ?? []) : [],
    };
  return { ...evidence, finalizedHeights: heights };
}

function timesSince(askedAt: Date): InvestigationTimes {
  return { askedAt, judgedAt: new Date() };
}

/** True if a block height ends the attempt's life, not a durable nonce. */
export function isExpiring<A extends AnyAttempt>(
  attempt: A,
): attempt is Exclude<A, { readonly nonce: string }> {
  return !hasNonce(attempt);
}

function isSigned(attempt: AnyAttempt): attempt is AnySignedAttempt {
  return attempt.signature !== null;
}

function hasNonce<A extends AnyAttempt>(attempt: A): attempt is Extract<A, { readonly nonce: string }> {
  return 'nonce' in attempt;
}
