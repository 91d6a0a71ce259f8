import pLimit from 'p-limit';
import type { NodeTestimony, OutcomeEvidence, Sighting } from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import type { Chain } from '../chain.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { witnessedBlock } from './linked-blocks.ts';
import { type AskOutcome, askOutcome, type Outcome } from './outcomes.ts';
import { NOT_SHOWN, type Spending } from './spending.ts';
import { seenBy } from './status-observations.ts';
import { STATUSES_PER_CALL } from './statuses.ts';

// The rule of this file: a verdict that ends a settlement, holds it for good or pauses payments takes two nodes that show the same. One
// node alone can only delay it. Source: docs/decisions/0012-quorum.md.

/** Attempts for which all nodes are asked at the same time. */
export const ATTEMPTS_AT_ONCE = 16;

/**
 * The finalized outcome of a signature as a node other than `witness` shows it: the same as that one reports, by whichever node, and
 * another one only where no node shows the same. Null where none shows any now: a node that is behind, forgot its history or has a
 * fault says nothing, and is only a reason to ask again.
 */
export async function secondOutcome(
  chain: Chain,
  witness: Pick<NodeTestimony<Sighting>, 'node' | 'answer'>,
  signature: string,
  askOne: AskOutcome = askOutcome,
): Promise<Outcome | null> {
  const shown: Outcome[] = [];
  const ask = async (node: SolanaNode): Promise<Outcome | null> => {
    const outcome = await askOne(node, signature);
    if (outcome !== null) shown.push(outcome);
    return outcome;
  };
  const agreeing = await chain.pool.second(witness.node, ask, (outcome) => isSame(witness.answer, outcome));
  return agreeing?.answer ?? shown[0] ?? null;
}

function isSame(sighting: Sighting, outcome: Outcome | null): boolean {
  return sighting.kind === 'seen' && sighting.slot === outcome?.slot && sighting.error === outcome.error;
}

/** Why a finalized sighting does not count yet, with the nodes named. */
export function unsecondedReason(
  chain: Chain,
  { node, answer }: NodeTestimony<Sighting>,
  outcome: Outcome | null,
): string {
  const told = (slot: bigint, error: string | null) => `in slot ${slot} ${error ?? 'without error'}`;
  const seen = answer.kind === 'seen' ? told(answer.slot, answer.error) : answer.kind;
  if (outcome !== null)
    return `${node} reports it finalized ${seen}, but ${outcome.node} ${told(outcome.slot, outcome.error)}`;
  const others = chain.pool.nodes.map(({ name }) => name).filter((name) => name !== node);
  return `${node} reports it finalized ${seen}, and no second node shows that: ${others.join(', ') || node}`;
}

/** Evidence for an outcome, of whatever lifetime: what one node reports as finalized, and who agrees. */
export function outcomeEvidence(
  quorum: number,
  witness: NodeTestimony<Sighting>,
  outcome: Outcome | null,
): OutcomeEvidence {
  const agreeing = outcome !== null && isSame(witness.answer, outcome) ? [outcome] : [];
  const charging = agreeing.filter(({ spending }) => (spending.feeLamports ?? 0n) > 0n);
  const outcomeConfirmedBy = agreeing.map(({ node }) => node);
  return { quorum, statuses: [witness], outcomeConfirmedBy, chargedBy: charging.map(({ node }) => node) };
}

/**
 * Has a second node confirm what the statuses report as finalized, where any does. Where none does although the transaction is known
 * to be included, as behind a load balancer that pins an old status, two nodes that show one outcome of it tell in their place.
 */
export async function confirmOutcome(
  chain: Chain,
  signature: string,
  statuses: readonly NodeTestimony<Sighting>[],
  isIncluded: boolean,
): Promise<OutcomeEvidence & { readonly spending: Spending }> {
  const { quorum } = chain.pool;
  const told = statuses.find(({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized');
  const sequence = 1 + Math.max(0, ...statuses.map((status) => status.sequence));
  const witness = told ?? (isIncluded ? await shownFinal(chain, signature, sequence) : null);
  if (witness === null)
    return { quorum, statuses, outcomeConfirmedBy: [], chargedBy: [], spending: NOT_SHOWN };
  const outcome = await secondOutcome(chain, witness, signature);
  const evidence = outcomeEvidence(quorum, witness, outcome);
  const spending = outcome?.spending ?? NOT_SHOWN;
  // What one node alone shows against its own status tells nothing.
  const isHeard = witness !== told && evidence.outcomeConfirmedBy.length > 0;
  return { ...evidence, statuses: isHeard ? [...statuses, witness] : statuses, spending };
}

/** The finalized transaction as two nodes show it, or one where no two agree, as a sighting of the first of them. */
async function shownFinal(
  { pool }: Chain,
  signature: string,
  sequence: number,
): Promise<NodeTestimony<Sighting> | null> {
  const shown = await shownOutcomes(pool, signature);
  const witness = shown.find((outcome) => alikeIn(shown, outcome).length > 1) ?? shown[0];
  if (witness === undefined) return null;
  const { node, slot, error } = witness;
  return { node, sequence, answer: { kind: 'seen', commitment: 'finalized', slot, error, atSlot: null } };
}

/** The finalized outcome of a signature as each node shows it. */
async function shownOutcomes(pool: NodePool, signature: string): Promise<readonly Outcome[]> {
  const answers = await pool.all((node) => askOutcome(node, signature));
  return answers.flatMap(({ result }) => (result.status === 'fulfilled' ? (result.value ?? []) : []));
}

function alikeIn(
  shown: readonly Outcome[],
  { slot, error }: Pick<Outcome, 'slot' | 'error'>,
): readonly string[] {
  return shown.filter((other) => other.slot === slot && other.error === error).map(({ node }) => node);
}

/** The nodes that show that a transaction, which the database calls dead or failed, has landed after all. */
export interface LandingProof {
  readonly shownBy: readonly string[];
}

/**
 * Proof that the transaction of an attempt which the database calls dead is finalized: two nodes show its outcome alike, or a quorum shows
 * the block of `slot` with it. Null while neither is so: one node alone proves nothing.
 */
export async function proveLanded(
  pool: NodePool,
  signature: string,
  slot: bigint,
): Promise<LandingProof | null> {
  const agreed = agreedOutcome(pool, await shownOutcomes(pool, signature));
  if (agreed !== null) return agreed;
  const block = await witnessedBlock(pool, slot).catch(() => null);
  return block?.signatures.has(signature) === true ? { shownBy: [`the block of slot ${slot}`] } : null;
}

/** An attempt that the database calls failed, with the finalized failure that two nodes showed then. */
export interface RecordedFailure {
  readonly signature: string;
  readonly slot: bigint | null;
  readonly error: string | null;
}

/**
 * What nodes return now about a recorded failure: proof that the transaction has succeeded, or `failed` where the failure is proved.
 * `unclaimed`: no node reports a success, and too few nodes show the failure. Null: a node reports a success, and neither is proved.
 */
export type FailureCheck = LandingProof | 'failed' | 'unclaimed' | null;

/**
 * Checks recorded failures, with one status call of each node for 256 of them. A success takes two nodes that show it. A failure takes two
 * nodes, or one node that shows what is on record while a single node reports a success. The nodes that report a success are then distrusted.
 */
export async function checkFailures(
  chain: Chain,
  failures: readonly RecordedFailure[],
): Promise<readonly FailureCheck[]> {
  const checks: FailureCheck[] = [];
  for (const piece of chunksOf(failures, STATUSES_PER_CALL)) {
    const statuses = await chain.statuses(piece.map(({ signature }) => signature));
    const checked = await pLimit(ATTEMPTS_AT_ONCE).map(piece, (failure, index) => {
      const seen = statuses.flatMap(({ node, sightings }) => {
        const one = sightings[index];
        return one?.kind === 'seen' && one.commitment === 'finalized' ? [{ node, error: one.error }] : [];
      });
      return checkFailure(chain.pool, failure, seen);
    });
    checks.push(...checked);
  }
  return checks;
}

/** `seen`: the nodes that report it finalized. */
async function checkFailure(
  pool: NodePool,
  failure: RecordedFailure,
  seen: readonly Pick<Outcome, 'node' | 'error'>[],
): Promise<FailureCheck> {
  const claiming = seen.filter(isSuccess);
  if (claiming.length === 0) return seen.length >= twoOf(pool) ? 'failed' : 'unclaimed';
  const shown = await shownOutcomes(pool, failure.signature);
  const agreed = agreedOutcome(pool, shown);
  if (agreed?.error === null) return agreed;
  const claimants = new Set([...claiming, ...shown.filter(isSuccess)].map(({ node }) => node));
  const failing = agreed?.shownBy ?? (claimants.size === 1 ? asRecorded(shown, failure, claimants) : []);
  if (failing.length === 0) return null;
  const reason = `reports that ${failure.signature} succeeded, but it failed on ${failing.join(' and ')}, and two nodes proved the failure before`;
  for (const node of claimants) pool.distrust(node, reason);
  return 'failed';
}

/** The nodes that show the outcome on record, but those that also claim a success. */
function asRecorded(
  shown: readonly Outcome[],
  { slot, error }: RecordedFailure,
  claimants: ReadonlySet<string>,
): readonly string[] {
  return slot === null ? [] : alikeIn(shown, { slot, error }).filter((node) => !claimants.has(node));
}

function isSuccess({ error }: Pick<Outcome, 'error'>): boolean {
  return error === null;
}

/** The finalized outcome that two nodes show alike, a success first, or the only node of a pool of one; null where no two do now. */
function agreedOutcome(
  pool: NodePool,
  shown: readonly Outcome[],
): (LandingProof & Pick<Outcome, 'error'>) | null {
  const agreed = [...shown.filter(isSuccess), ...shown].find(
    (outcome) => alikeIn(shown, outcome).length >= twoOf(pool),
  );
  return agreed === undefined ? null : { error: agreed.error, shownBy: alikeIn(shown, agreed) };
}

/** Two nodes, or the only node of a pool of one. */
function twoOf({ quorum }: NodePool): number {
  return Math.min(2, quorum);
}

/**
 * The statuses of one attempt without the sightings of distrusted nodes. They cannot keep an attempt alive, and no death rests on that:
 * it takes blocks and nulls of a quorum all the same.
 */
export function believedStatuses(
  pool: Pick<NodePool, 'report'>,
  statuses: readonly NodeTestimony<Sighting>[],
): readonly NodeTestimony<Sighting>[] {
  const distrusted = new Set(
    pool.report().flatMap(({ node, demoted }) => (demoted?.cause === 'false' ? [node] : [])),
  );
  return statuses.filter(({ node, answer }) => answer.kind !== 'seen' || !distrusted.has(node));
}

/**
 * Distrusts the node that alone reports a transaction which a quorum proves impossible. `sightings`: only those that the proof
 * contradicts; two nodes that report it stay believed. `proof` completes the sentence "<node> reports it in slot n, but ...".
 */
export function distrustRefuted(
  pool: Pick<NodePool, 'distrust'>,
  sightings: readonly NodeTestimony<Sighting>[],
  what: string,
  proof = "a quorum's blocks lack it",
): void {
  const [one, ...others] = sightings.flatMap(seenBy);
  if (one === undefined || others.length > 0) return;
  pool.distrust(one.node, `reports ${what} ${one.commitment} in slot ${one.slot}, but ${proof}`);
}
