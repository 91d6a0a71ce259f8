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
import { type Spending, UNKNOWN_SPENDING } from './spending.ts';
import { emptyOutcomeEvidence } from './status-observations.ts';

export type AnySignedAttempt = SignedAttempt | SignedNonceAttempt;

type Unsigned<A extends AnySignedAttempt> = Omit<A, 'signature'> & { readonly signature: string | null };
export type AnyAttempt = Unsigned<SignedAttempt> | Unsigned<SignedNonceAttempt>;

/** The lifetime columns of an attempt row. If `nonceAccount` is set, `blockhash` holds the nonce. */
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
  /** Description of the missing node answers, with node names; null if none is missing. */
  readonly obstacle: string | null;
  /** For a search by message: the signature under which blocks on which a quorum agrees contain it; else null. */
  readonly landedAs?: string | null;
}

/**
 * Attempts that any node reports as past their last height, or as having lost their nonce, and the answers that show
 * this. Every proof that an attempt is dead begins with these answers.
 */
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
    throw new Error('an attempt row has neither a nonce account nor block heights');
  return { signature, blockhash, blockhashSlot, blockhashHeight, lastValidBlockHeight, adoptedFrom };
}

type FirstAnswers = Pick<DueAttempts<AnyAttempt>, 'heights' | 'nonces'>;

const NO_ANSWERS: FirstAnswers = { heights: [], nonces: new Map() };

/** Judges a finalized outcome. The heights and nonces only add to the stored evidence; the verdict is never `dead`. */
export function findOutcome(
  attempt: AnyAttempt,
  outcome: OutcomeEvidence,
  askedAt: Date,
  spending: Spending,
  { heights, nonces }: FirstAnswers = NO_ANSWERS,
): Finding {
  const common = { times: { askedAt, judgedAt: new Date() }, spending, obstacle: null };
  if ('nonce' in attempt) {
    const finalizedNonces = nonces.get(attempt.nonceAccount) ?? [];
    const evidence = { ...outcome, finalizedNonces, use: null, bypass: null, coverage: null };
    return { ...common, verdict: judgeNonceAttempt(attempt, evidence), evidence };
  }
  const noBlocks = { stillTaking: [], origin: null, displacement: null, coverage: null };
  const evidence = { ...outcome, ...noBlocks, finalizedHeights: heights };
  return { ...common, verdict: judgeAttempt(attempt, evidence), evidence };
}

/** Selects the attempts that any node reports as past their last height, or as having lost their nonce. */
export async function findDue<A extends AnyAttempt>(
  chain: Chain,
  attempts: readonly A[],
): Promise<DueAttempts<A>> {
  const askedAt = new Date();
  const accounts = attempts.flatMap((attempt) => ('nonce' in attempt ? [attempt.nonceAccount] : []));
  const hasBlockhashes = accounts.length < attempts.length;
  const [heights, nonces] = await Promise.all([
    hasBlockhashes ? askHeights(chain.pool, 'finalized') : [],
    askNonces(chain.pool, accounts),
  ]);
  const isDueNow = (attempt: AnyAttempt): boolean =>
    'nonce' in attempt ? isUsedUp(attempt, nonces) : isDue(attempt, heights);
  return { attempts: attempts.filter(isDueNow), heights, nonces, askedAt };
}

/** Gathers and judges the evidence for due attempts. Results are in the order of `attempts`. */
export async function examine(
  chain: Chain,
  { attempts, heights, nonces, askedAt }: DueAttempts<AnySignedAttempt>,
  cache: BlockCache,
): Promise<readonly Finding[]> {
  const nonceAttempts = attempts.filter((attempt) => 'nonce' in attempt);
  const blockhashAttempts = attempts.filter((attempt) => 'blockhash' in attempt);
  const [ofBlockhashes, ofNonces] = await Promise.all([
    investigate(chain, blockhashAttempts, heights, cache),
    investigateNonces(chain, nonceAttempts, nonces, cache),
  ]);
  const times = { askedAt, judgedAt: new Date() };
  const findings = new Map<AnySignedAttempt, Finding>([
    ...judgeAll(blockhashAttempts, ofBlockhashes, judgeAttempt, times),
    ...judgeAll(nonceAttempts, ofNonces, judgeNonceAttempt, times),
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

/** Examines one attempt now, due or not. Sends and signs nothing. */
export async function examineNow(chain: Chain, attempt: AnyAttempt, cache: BlockCache): Promise<Finding> {
  const due = await findDue(chain, [attempt]);
  const { signature } = attempt;
  if (signature !== null) {
    const [finding] = await examine(chain, { ...due, attempts: [{ ...attempt, signature }] }, cache);
    if (finding !== undefined) return finding;
  }
  const outcome = emptyOutcomeEvidence(chain.pool.quorum);
  return findOutcome(attempt, outcome, due.askedAt, UNKNOWN_SPENDING, due);
}
