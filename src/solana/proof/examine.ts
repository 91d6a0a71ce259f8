import type {
  AttemptFacts,
  AttemptVerdict,
  Evidence,
  InvestigationTimes,
  NodeAnswer,
  NonceAttemptFacts,
  NonceEvidence,
  OutcomeEvidence,
} from '../../domain/attempt.ts';
import type { Address, BlockHeight, Blockhash, Slot } from '../../domain/units.ts';
import type { Chain } from '../chain.ts';
import { askHeights } from './heights.ts';
import { type Investigation, investigate, type SignedAttempt } from './investigate.ts';
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
import { noOutcome } from './status-observations.ts';

export type AnySignedAttempt = SignedAttempt | SignedNonceAttempt;

type Unsigned<A extends AnySignedAttempt> = Omit<A, 'signature'> & { readonly signature: string | null };
export type AnyAttempt = Unsigned<SignedAttempt> | Unsigned<SignedNonceAttempt>;

/** The lifetime columns of an attempt row. With a nonce account, `blockhash` is the nonce value. */
export interface RecordedLifetime {
  readonly blockhash: Blockhash;
  readonly blockhashSlot: Slot;
  readonly blockhashHeight: BlockHeight | null;
  readonly lastValidBlockHeight: BlockHeight | null;
  readonly adoptedFrom: Blockhash | null;
  readonly nonceAccount: Address | null;
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
export interface DueAttempts<A extends AnyAttempt> {
  readonly attempts: readonly A[];
  readonly heights: readonly NodeAnswer<BlockHeight>[];
  readonly nonces: FinalizedNonces;
  readonly askedAt: Date;
}

export function attemptOfRow<S extends string | null>(
  row: RecordedLifetime,
  signature: S,
): (AttemptFacts | NonceAttemptFacts) & { readonly signature: S } {
  const { blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, adoptedFrom, nonceAccount } = row;
  if (nonceAccount !== null) return { signature, nonceAccount, nonce: blockhash, nonceSlot: blockhashSlot };
  if (blockhashHeight === null || lastValidBlockHeight === null)
    throw new Error('an attempt without a nonce account has heights: the database checks it');
  return { signature, blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, adoptedFrom };
}

type FirstAnswers = Pick<DueAttempts<AnyAttempt>, 'heights' | 'nonces'>;

const NOT_ASKED: FirstAnswers = { heights: [], nonces: new Map() };

/** Judges a finalized outcome. Proves no death: `first` is for display only. */
export function findOutcome(
  attempt: AnyAttempt,
  outcome: OutcomeEvidence,
  askedAt: Date,
  spending: Spending,
  { heights, nonces }: FirstAnswers = NOT_ASKED,
): Finding {
  const shared = { times: { askedAt, judgedAt: new Date() }, spending, obstacle: null };
  if ('nonce' in attempt) {
    const finalizedNonces = nonces.get(attempt.nonceAccount) ?? [];
    const evidence = { ...outcome, finalizedNonces, use: null, bypass: null, coverage: null };
    return { ...shared, verdict: judgeNonceAttempt(attempt, evidence), evidence };
  }
  const unread = { stillTaking: [], origin: null, displacement: null, coverage: null };
  const evidence = { ...outcome, ...unread, finalizedHeights: heights };
  return { ...shared, verdict: judgeAttempt(attempt, evidence), evidence };
}

/** Selects the attempts that are past their last height, or lost their nonce, on any node. */
export async function findDue<A extends AnyAttempt>(
  chain: Chain,
  attempts: readonly A[],
): Promise<DueAttempts<A>> {
  const askedAt = new Date();
  const accounts = attempts.flatMap((attempt) => ('nonce' in attempt ? [attempt.nonceAccount] : []));
  const expiring = accounts.length < attempts.length;
  const [heights, nonces] = await Promise.all([
    expiring ? askHeights(chain.pool, 'finalized') : [],
    askNonces(chain.pool, accounts),
  ]);
  const isOver = (attempt: AnyAttempt): boolean =>
    'nonce' in attempt ? isUsedUp(attempt, nonces) : isDue(attempt, heights);
  return { attempts: attempts.filter(isOver), heights, nonces, askedAt };
}

/** Gathers and judges the evidence for due attempts. Results are in the order of `attempts`. */
export async function examine(
  chain: Chain,
  { attempts, heights, nonces, askedAt }: DueAttempts<AnySignedAttempt>,
  cache: BlockCache,
): Promise<readonly Finding[]> {
  const lasting = attempts.filter((attempt) => 'nonce' in attempt);
  const expiring = attempts.filter((attempt) => 'blockhash' in attempt);
  const [ofBlockhashes, ofNonces] = await Promise.all([
    investigate(chain, expiring, heights, cache),
    investigateNonces(chain, lasting, nonces, cache),
  ]);
  const times = { askedAt, judgedAt: new Date() };
  const findings = new Map<AnySignedAttempt, Finding>([
    ...judgeAll(expiring, ofBlockhashes, judgeAttempt, times),
    ...judgeAll(lasting, ofNonces, judgeNonceAttempt, times),
  ]);
  return attempts.flatMap((attempt) => findings.get(attempt) ?? []);
}

function judgeAll<A extends AnySignedAttempt, E extends Evidence | NonceEvidence>(
  attempts: readonly A[],
  found: readonly Investigation<E>[],
  judge: (attempt: A, evidence: E) => AttemptVerdict,
  times: InvestigationTimes,
): readonly (readonly [A, Finding])[] {
  return attempts.flatMap((attempt, index) => {
    const one = found[index];
    return one === undefined ? [] : [[attempt, { ...one, times, verdict: judge(attempt, one.evidence) }]];
  });
}

/** Asks all nodes now about one attempt, due or not. Reads only: sends and signs nothing. */
export async function examineNow(chain: Chain, attempt: AnyAttempt, cache: BlockCache): Promise<Finding> {
  const due = await findDue(chain, [attempt]);
  const { signature } = attempt;
  if (signature !== null) {
    const [finding] = await examine(chain, { ...due, attempts: [{ ...attempt, signature }] }, cache);
    if (finding !== undefined) return finding;
  }
  const outcome = noOutcome(chain.pool.quorum);
  return findOutcome(attempt, outcome, due.askedAt, NOT_SHOWN, due);
}
