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
import { type Spending, UNKNOWN_SPENDING } from './spending.ts';
import { seenStatuses } from './status-observations.ts';
import { STATUSES_PER_CALL } from './statuses.ts';

// Rule of this file: two nodes must agree before a settlement ends, is held permanently, or pauses payments. One node
// alone can only cause a delay. Source: docs/decisions/0012-quorum.md.

export const MAX_CONCURRENT_ATTEMPTS = 16;

/**
 * Finalized outcome of a signature, from a node other than that of `report`. A different outcome is returned only if no
 * node returns the outcome that is reported. Null if no node returns any outcome, which proves nothing: nodes can lag,
 * fail, or lack history.
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

/** Sentence that states why no second node confirms a finalized status yet, with node names. */
export function unconfirmedReason(
  chain: Chain,
  { node, answer }: NodeAnswer<StatusObservation>,
  outcome: TransactionOutcome | null,
): string {
  const describe = (slot: bigint, error: string | null) => `in slot ${slot} ${error ?? 'without error'}`;
  const reportedOutcome = answer.kind === 'seen' ? describe(answer.slot, answer.error) : answer.kind;
  if (outcome !== null)
    return `${node} reports the transaction as finalized ${reportedOutcome}, but ${outcome.node} ${describe(outcome.slot, outcome.error)}`;
  const others = chain.pool.nodes.map(({ name }) => name).filter((name) => name !== node);
  return `${node} reports the transaction as finalized ${reportedOutcome}, but no other node returns the same: ${others.join(', ') || node}`;
}

/** Evidence from one node's finalized status, and from a second node's outcome if both agree. */
export function outcomeEvidence(
  quorum: number,
  report: NodeAnswer<StatusObservation>,
  outcome: TransactionOutcome | null,
): OutcomeEvidence {
  const agreeingOutcomes = outcome !== null && isSame(report.answer, outcome) ? [outcome] : [];
  const chargingOutcomes = agreeingOutcomes.filter(({ spending }) => (spending.feeLamports ?? 0n) > 0n);
  const outcomeConfirmedBy = agreeingOutcomes.map(({ node }) => node);
  return {
    quorum,
    statuses: [report],
    outcomeConfirmedBy,
    chargedBy: chargingOutcomes.map(({ node }) => node),
  };
}

/**
 * Asks a second node to confirm a finalized status. A load balancer can return an outdated status indefinitely. So if
 * the transaction is known to be in a block (`isIncluded`) but no node reports it as finalized, two nodes that return
 * the same outcome take the place of that status.
 */
export async function confirmOutcome(
  chain: Chain,
  signature: string,
  statuses: readonly NodeAnswer<StatusObservation>[],
  isIncluded: boolean,
): Promise<OutcomeEvidence & { readonly spending: Spending }> {
  const { quorum } = chain.pool;
  const finalizedStatus = statuses.find(
    ({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized',
  );
  const sequence = 1 + Math.max(0, ...statuses.map((status) => status.sequence));
  const report = finalizedStatus ?? (isIncluded ? await reportOfOutcomes(chain, signature, sequence) : null);
  if (report === null)
    return { quorum, statuses, outcomeConfirmedBy: [], chargedBy: [], spending: UNKNOWN_SPENDING };
  const outcome = await secondOutcome(chain, report, signature);
  const evidence = outcomeEvidence(quorum, report, outcome);
  const spending = outcome?.spending ?? UNKNOWN_SPENDING;
  // Without a second node, an outcome that contradicts the same node's status proves nothing.
  const isConfirmed = report !== finalizedStatus && evidence.outcomeConfirmedBy.length > 0;
  return { ...evidence, statuses: isConfirmed ? [...statuses, report] : statuses, spending };
}

/** The finalized outcome that most nodes return, as a status reported by the first of them. Null if there is none. */
async function reportOfOutcomes(
  { pool }: Chain,
  signature: string,
  sequence: number,
): Promise<NodeAnswer<StatusObservation> | null> {
  const [mostReturned] = await outcomesOf(pool, signature);
  if (mostReturned === undefined) return null;
  const { node, slot, error } = mostReturned.answer;
  return { node, sequence, answer: { kind: 'seen', commitment: 'finalized', slot, error, atSlot: null } };
}

/** Each distinct finalized outcome with the nodes that return it; the outcome of most nodes first. */
async function outcomesOf(
  pool: NodePool,
  signature: string,
): Promise<readonly Agreement<TransactionOutcome>[]> {
  const answers = answersIn(await pool.all((node) => askOutcome(node, signature)));
  const outcomes = answers.flatMap(({ node, answer }) => (answer === null ? [] : [{ node, answer }]));
  return versionsOf(outcomes, (one, other) => one.slot === other.slot && one.error === other.error);
}

/** Sources that prove that a transaction landed although its attempt is `dead` or `failed` in the database. */
export interface LandingProof {
  readonly shownBy: readonly string[];
}

/**
 * Proof that an attempt which is `dead` in the database has landed: two nodes return the same outcome, or a quorum's
 * block of `slot` contains the signature. Null if neither is the case: one node alone proves nothing.
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

/** A failed attempt from the database, with the finalized failure that two nodes confirmed when it was recorded. */
export interface RecordedFailure {
  readonly signature: string;
  readonly slot: bigint | null;
  readonly error: string | null;
}

/**
 * Result of checking a recorded failure: proof that the transaction succeeded, or `failed` if the failure is confirmed.
 * `unclaimed`: no node reports a success, and too few nodes report the failure. Null: a node reports a success, but
 * neither outcome is proved.
 */
export type FailureCheck = LandingProof | 'failed' | 'unclaimed' | null;

/**
 * Checks recorded failures against the nodes, in the order of `failures`. A success needs two nodes. A failure needs
 * two nodes, or one node that returns the recorded outcome while only a single node reports a success. Nodes that
 * report a disproved success are distrusted.
 */
export async function checkFailures(
  chain: Chain,
  failures: readonly RecordedFailure[],
): Promise<readonly FailureCheck[]> {
  const checks: FailureCheck[] = [];
  for (const chunk of chunksOf(failures, STATUSES_PER_CALL)) {
    const statuses = await chain.statuses(chunk.map(({ signature }) => signature));
    const results = await pLimit(MAX_CONCURRENT_ATTEMPTS).map(chunk, (failure, index) => {
      const finalizedReports = statuses.flatMap(({ node, observations }) => {
        const status = observations[index];
        return status?.kind === 'seen' && status.commitment === 'finalized'
          ? [{ node, error: status.error }]
          : [];
      });
      return checkFailure(chain.pool, failure, finalizedReports);
    });
    checks.push(...results);
  }
  return checks;
}

/** `finalizedReports`: the nodes that report the transaction as finalized. */
async function checkFailure(
  pool: NodePool,
  failure: RecordedFailure,
  finalizedReports: readonly Pick<TransactionOutcome, 'node' | 'error'>[],
): Promise<FailureCheck> {
  const successReports = finalizedReports.filter(isSuccess);
  if (successReports.length === 0)
    return finalizedReports.length >= minConfirmingNodes(pool) ? 'failed' : 'unclaimed';
  const outcomes = await outcomesOf(pool, failure.signature);
  const agreed = agreedOutcome(pool, outcomes);
  if (agreed !== undefined && isSuccess(agreed.answer)) return { shownBy: agreed.nodes };
  const successes = outcomes.filter(({ answer }) => isSuccess(answer));
  const claimants = new Set([
    ...successReports.map(({ node }) => node),
    ...successes.flatMap(({ nodes }) => nodes),
  ]);
  const failingNodes =
    agreed?.nodes ?? (claimants.size === 1 ? nodesReturningRecorded(outcomes, failure, claimants) : []);
  if (failingNodes.length === 0) return null;
  const reason = `reports that ${failure.signature} succeeded, but ${failingNodes.join(' and ')} returns its failure, which two nodes confirmed before`;
  for (const node of claimants) pool.distrust(node, reason);
  return 'failed';
}

/** Nodes that return the recorded outcome, except nodes that also report a success. */
function nodesReturningRecorded(
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

/** A finalized outcome that two nodes return (one node in a pool of one). A success takes precedence. */
function agreedOutcome(
  pool: NodePool,
  outcomes: readonly Agreement<TransactionOutcome>[],
): Agreement<TransactionOutcome> | undefined {
  const agreed = outcomes.filter(({ nodes }) => nodes.length >= minConfirmingNodes(pool));
  return agreed.find(({ answer }) => isSuccess(answer)) ?? agreed[0];
}

function minConfirmingNodes({ quorum }: NodePool): number {
  return Math.min(2, quorum);
}

/**
 * The statuses of one attempt, except `seen` statuses from distrusted nodes, which must not keep the attempt alive.
 * This cannot cause a false `dead`: that verdict still needs linked blocks, and null answers from a quorum.
 */
export function trustedStatuses(
  pool: Pick<NodePool, 'report'>,
  statuses: readonly NodeAnswer<StatusObservation>[],
): readonly NodeAnswer<StatusObservation>[] {
  const distrusted = new Set(
    pool.report().flatMap(({ node, demotion }) => (demotion?.cause === 'false' ? [node] : [])),
  );
  return statuses.filter(({ node, answer }) => answer.kind !== 'seen' || !distrusted.has(node));
}

/**
 * Distrusts a node if it alone reports a transaction that, by a quorum's proof, cannot be on chain. `contradicted`: the
 * statuses that the proof contradicts; if two nodes have reported the transaction, neither is distrusted. `proof`
 * completes the sentence "<node> reports <transaction> in slot <slot>, but ...".
 */
export function distrustRefuted(
  pool: Pick<NodePool, 'distrust'>,
  contradicted: readonly NodeAnswer<StatusObservation>[],
  transaction: string,
  proof = "a quorum's blocks lack it",
): void {
  const [report, ...others] = contradicted.flatMap(seenStatuses);
  if (report === undefined || others.length > 0) return;
  pool.distrust(
    report.node,
    `reports ${transaction} as ${report.commitment} in slot ${report.slot}, but ${proof}`,
  );
}
