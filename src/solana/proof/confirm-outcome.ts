import pLimit from 'p-limit';
import type { NodeAnswer, OutcomeEvidence, StatusObservation } from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import type { Chain } from '../chain.ts';
import { nullIfNodesFail } from '../rpc/errors.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { type Agreement, answersIn, versionsOf } from '../rpc/quorum.ts';
import { confirmedBlock } from './linked-blocks.ts';
import { type AskOutcome, askOutcome, type TransactionOutcome } from './outcomes.ts';
import { NOT_SHOWN, type Spending } from './spending.ts';
import { seenBy } from './status-observations.ts';
import { STATUSES_PER_CALL } from './statuses.ts';

// Rule of this file: a verdict that ends a settlement, holds it for good or pauses payments needs two nodes that
// agree. One node alone can only delay it. Source: docs/decisions/0012-quorum.md.

export const ATTEMPTS_AT_ONCE = 16;

/**
 * The finalized outcome of a signature from a node other than that of `report`. An outcome equal to the report is
 * preferred; a different one is returned only if no node returns an equal one. Null if no node returns any: nodes
 * that lag, lost history or failed prove nothing, and the caller asks again.
 */
export async function secondOutcome(
  chain: Chain,
  report: Pick<NodeAnswer<StatusObservation>, 'node' | 'answer'>,
  signature: string,
  askOne: AskOutcome = askOutcome,
): Promise<TransactionOutcome | null> {
  const outcomes: TransactionOutcome[] = [];
  const ask = async (node: SolanaNode): Promise<TransactionOutcome | null> => {
    const outcome = await askOne(node, signature);
    if (outcome !== null) outcomes.push(outcome);
    return outcome;
  };
  const agreeing = await chain.pool.second(report.node, ask, (outcome) => isSame(report.answer, outcome));
  return agreeing?.answer ?? outcomes[0] ?? null;
}

function isSame(observation: StatusObservation, outcome: TransactionOutcome | null): boolean {
  return (
    observation.kind === 'seen' && observation.slot === outcome?.slot && observation.error === outcome.error
  );
}

/** Why a finalized status is not confirmed by a second node yet, with node names. */
export function unconfirmedReason(
  chain: Chain,
  { node, answer }: NodeAnswer<StatusObservation>,
  outcome: TransactionOutcome | null,
): string {
  const describe = (slot: bigint, error: string | null) => `in slot ${slot} ${error ?? 'without error'}`;
  const seen = answer.kind === 'seen' ? describe(answer.slot, answer.error) : answer.kind;
  if (outcome !== null)
    return `${node} reports it finalized ${seen}, but ${outcome.node} ${describe(outcome.slot, outcome.error)}`;
  const others = chain.pool.nodes.map(({ name }) => name).filter((name) => name !== node);
  return `${node} reports it finalized ${seen}, and no second node returns the same: ${others.join(', ') || node}`;
}

/** Evidence for an outcome with either lifetime: one node's finalized status, and the nodes that agree. */
export function outcomeEvidence(
  quorum: number,
  report: NodeAnswer<StatusObservation>,
  outcome: TransactionOutcome | null,
): OutcomeEvidence {
  const agreeing = outcome !== null && isSame(report.answer, outcome) ? [outcome] : [];
  const charging = agreeing.filter(({ spending }) => (spending.feeLamports ?? 0n) > 0n);
  const outcomeConfirmedBy = agreeing.map(({ node }) => node);
  return { quorum, statuses: [report], outcomeConfirmedBy, chargedBy: charging.map(({ node }) => node) };
}

/**
 * Asks a second node to confirm a finalized status. A load balancer may return an old status for good. So if the
 * transaction is known to be in a block but has no finalized status, two nodes that return the same outcome replace
 * it.
 */
export async function confirmOutcome(
  chain: Chain,
  signature: string,
  statuses: readonly NodeAnswer<StatusObservation>[],
  isIncluded: boolean,
): Promise<OutcomeEvidence & { readonly spending: Spending }> {
  const { quorum } = chain.pool;
  const reported = statuses.find(({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized');
  const sequence = 1 + Math.max(0, ...statuses.map((status) => status.sequence));
  const report = reported ?? (isIncluded ? await reportOfOutcomes(chain, signature, sequence) : null);
  if (report === null)
    return { quorum, statuses, outcomeConfirmedBy: [], chargedBy: [], spending: NOT_SHOWN };
  const outcome = await secondOutcome(chain, report, signature);
  const evidence = outcomeEvidence(quorum, report, outcome);
  const spending = outcome?.spending ?? NOT_SHOWN;
  // An outcome from one node that contradicts its own status proves nothing.
  const isConfirmed = report !== reported && evidence.outcomeConfirmedBy.length > 0;
  return { ...evidence, statuses: isConfirmed ? [...statuses, report] : statuses, spending };
}

/** The finalized outcome that two nodes return alike, or else one node's, as a status of the first of these nodes. */
async function reportOfOutcomes(
  { pool }: Chain,
  signature: string,
  sequence: number,
): Promise<NodeAnswer<StatusObservation> | null> {
  const [most] = await outcomesOf(pool, signature);
  if (most === undefined) return null;
  const { node, slot, error } = most.answer;
  return { node, sequence, answer: { kind: 'seen', commitment: 'finalized', slot, error, atSlot: null } };
}

/** The different finalized outcomes with the nodes that return each; most nodes first. */
async function outcomesOf(
  pool: NodePool,
  signature: string,
): Promise<readonly Agreement<TransactionOutcome>[]> {
  const answers = answersIn(await pool.all((node) => askOutcome(node, signature)));
  const outcomes = answers.flatMap(({ node, answer }) => (answer === null ? [] : [{ node, answer }]));
  return versionsOf(outcomes, (one, other) => one.slot === other.slot && one.error === other.error);
}

/** The nodes that return a transaction as landed although its attempt is dead or failed in the database. */
export interface LandingProof {
  readonly shownBy: readonly string[];
}

/**
 * Proves that a dead attempt of the database has landed: two nodes return one outcome, or a quorum its block of
 * `slot`. Null while neither holds: one node alone proves nothing.
 */
export async function proveLanded(
  pool: NodePool,
  signature: string,
  slot: bigint,
): Promise<LandingProof | null> {
  const agreed = agreedOutcome(pool, await outcomesOf(pool, signature));
  if (agreed !== undefined) return { shownBy: agreed.nodes };
  const block = await confirmedBlock(pool, slot).catch(nullIfNodesFail);
  return block?.signatures.has(signature) === true ? { shownBy: [`the block of slot ${slot}`] } : null;
}

/** A failed attempt from the database, with the finalized failure that two nodes proved then. */
export interface RecordedFailure {
  readonly signature: string;
  readonly slot: bigint | null;
  readonly error: string | null;
}

/**
 * What nodes return now about a recorded failure: proof that the transaction succeeded, or `failed` if the failure is
 * proved. `unclaimed`: no node reports a success, and too few nodes return the failure. Null: a node reports a
 * success, and neither is proved.
 */
export type FailureCheck = LandingProof | 'failed' | 'unclaimed' | null;

/**
 * Checks recorded failures, with one status call to each node for 256 of them. A success needs two nodes. A failure
 * needs two nodes, or one node that returns the recorded outcome while a single node reports a success. Nodes that
 * report a refuted success are distrusted.
 */
export async function checkFailures(
  chain: Chain,
  failures: readonly RecordedFailure[],
): Promise<readonly FailureCheck[]> {
  const checks: FailureCheck[] = [];
  for (const piece of chunksOf(failures, STATUSES_PER_CALL)) {
    const statuses = await chain.statuses(piece.map(({ signature }) => signature));
    const checked = await pLimit(ATTEMPTS_AT_ONCE).map(piece, (failure, index) => {
      const seen = statuses.flatMap(({ node, observations }) => {
        const one = observations[index];
        return one?.kind === 'seen' && one.commitment === 'finalized' ? [{ node, error: one.error }] : [];
      });
      return checkFailure(chain.pool, failure, seen);
    });
    checks.push(...checked);
  }
  return checks;
}

/** `seen`: the nodes that report the transaction as finalized. */
async function checkFailure(
  pool: NodePool,
  failure: RecordedFailure,
  seen: readonly Pick<TransactionOutcome, 'node' | 'error'>[],
): Promise<FailureCheck> {
  const claiming = seen.filter(isSuccess);
  if (claiming.length === 0) return seen.length >= twoOf(pool) ? 'failed' : 'unclaimed';
  const outcomes = await outcomesOf(pool, failure.signature);
  const agreed = agreedOutcome(pool, outcomes);
  if (agreed !== undefined && isSuccess(agreed.answer)) return { shownBy: agreed.nodes };
  const successes = outcomes.filter(({ answer }) => isSuccess(answer));
  const claimants = new Set([
    ...claiming.map(({ node }) => node),
    ...successes.flatMap(({ nodes }) => nodes),
  ]);
  const failing = agreed?.nodes ?? (claimants.size === 1 ? asRecorded(outcomes, failure, claimants) : []);
  if (failing.length === 0) return null;
  const reason = `reports that ${failure.signature} succeeded, but it failed on ${failing.join(' and ')}, and two nodes proved the failure before`;
  for (const node of claimants) pool.distrust(node, reason);
  return 'failed';
}

/** Nodes that return the recorded outcome, without those that also claim a success. */
function asRecorded(
  outcomes: readonly Agreement<TransactionOutcome>[],
  { slot, error }: RecordedFailure,
  claimants: ReadonlySet<string>,
): readonly string[] {
  const recorded = outcomes.find(({ answer }) => answer.slot === slot && answer.error === error);
  return recorded?.nodes.filter((node) => !claimants.has(node)) ?? [];
}

function isSuccess({ error }: Pick<TransactionOutcome, 'error'>): boolean {
  return error === null;
}

/** The finalized outcome that two nodes return alike (one in a pool of one), a success first. */
function agreedOutcome(
  pool: NodePool,
  outcomes: readonly Agreement<TransactionOutcome>[],
): Agreement<TransactionOutcome> | undefined {
  const agreed = outcomes.filter(({ nodes }) => nodes.length >= twoOf(pool));
  return agreed.find(({ answer }) => isSuccess(answer)) ?? agreed[0];
}

function twoOf({ quorum }: NodePool): number {
  return Math.min(2, quorum);
}

/**
 * The statuses of one attempt without `seen` statuses from distrusted nodes, which must not keep an attempt alive.
 * This cannot cause a false death: a death still needs linked blocks and nulls from a quorum.
 */
export function trustedStatuses(
  pool: Pick<NodePool, 'report'>,
  statuses: readonly NodeAnswer<StatusObservation>[],
): readonly NodeAnswer<StatusObservation>[] {
  const distrusted = new Set(
    pool.report().flatMap(({ node, demoted }) => (demoted?.cause === 'false' ? [node] : [])),
  );
  return statuses.filter(({ node, answer }) => answer.kind !== 'seen' || !distrusted.has(node));
}

/**
 * Distrusts the only node that reports a transaction which a quorum proves impossible. `contradicted`: the statuses
 * that the proof contradicts; if two nodes report it, neither is distrusted. `proof` completes the sentence "<node>
 * reports it in slot n, but ...".
 */
export function distrustRefuted(
  pool: Pick<NodePool, 'distrust'>,
  contradicted: readonly NodeAnswer<StatusObservation>[],
  what: string,
  proof = "a quorum's blocks lack it",
): void {
  const [one, ...others] = contradicted.flatMap(seenBy);
  if (one === undefined || others.length > 0) return;
  pool.distrust(one.node, `reports ${what} ${one.commitment} in slot ${one.slot}, but ${proof}`);
}
