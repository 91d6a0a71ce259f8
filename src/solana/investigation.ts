import type { Evidence, NodeTestimony, SequencedCoverage, Sighting } from '../domain/attempt.ts';
import { deathHeight } from '../domain/judge.ts';
import { type BlockCache, type CoveredAttempt, linkedCoverage } from './blocks.ts';
import { type Chain, readTransaction } from './chain.ts';
import { errorText } from './rpc/errors.ts';
import { u64 } from './rpc/schemas.ts';

/** A finalized outcome as a second node shows it. */
export interface Outcome {
  readonly node: string;
  readonly slot: bigint;
  readonly error: string | null;
  readonly feeLamports: bigint;
}

/** The evidence for a verdict, and the fee where a second node showed the transaction. */
export interface Investigation {
  readonly evidence: Evidence;
  readonly feeLamports: bigint | null;
}

/** An attempt that has a signature. */
export type SignedAttempt = CoveredAttempt & { readonly signature: string };

/** The highest finalized block height that any node reports: a reason to look closer, never a proof. */
export async function finalizedHeight(chain: Chain): Promise<bigint> {
  const heights = await askHeights(chain, 1);
  return heights.reduce((highest, { answer }) => (answer > highest ? answer : highest), 0n);
}

/** The outcome of a signature as a node other than `witness` shows it at finalized; null where it does not show one. */
export async function secondOutcome(
  chain: Chain,
  witness: string,
  signature: string,
): Promise<Outcome | null> {
  const shown = await chain.pool.second(
    witness,
    (other) => readTransaction(other, signature),
    (answer) => answer !== null && answer.meta !== null,
  );
  if (shown === null || shown.answer === null || shown.answer.meta === null) return null;
  const { slot, meta } = shown.answer;
  return { node: shown.node, slot, error: errorText(meta.err), feeLamports: meta.fee };
}

/** Evidence for an outcome: what one node reports as finalized, and who agrees. */
export function outcomeEvidence(
  quorum: number,
  witness: NodeTestimony<Sighting>,
  outcome: Outcome | null,
): Evidence {
  const seen = witness.answer.kind === 'seen' ? witness.answer : null;
  const agrees = outcome !== null && seen?.slot === outcome.slot && seen.error === outcome.error;
  return {
    quorum,
    finalizedHeights: [],
    statuses: [witness],
    outcomeConfirmedBy: agrees ? [outcome.node] : [],
    coverage: null,
  };
}

/**
 * Everything a verdict on an old attempt needs, asked in the order that a proof of death demands:
 * heights of all nodes, the linked blocks, and only then the statuses with history.
 */
export async function investigate(
  chain: Chain,
  attempt: SignedAttempt,
  cache: BlockCache,
): Promise<Investigation> {
  const lastHeight = deathHeight(attempt);
  const heights = await askHeights(chain, 1);
  const past = heights.filter((height) => height.answer > lastHeight).length;
  const sequence = chain.pool.nodes.length + 1;
  const coverage = past < chain.pool.quorum ? null : await cover(chain, attempt, sequence, cache);
  const statuses = await askStatuses(chain, attempt.signature, sequence + 1);
  const witness = statuses.find(({ answer }) => answer.kind === 'seen' && answer.commitment === 'finalized');
  const outcome = witness === undefined ? null : await secondOutcome(chain, witness.node, attempt.signature);
  const confirmed = witness === undefined ? [] : outcomeEvidence(1, witness, outcome).outcomeConfirmedBy;
  const evidence = {
    quorum: chain.pool.quorum,
    finalizedHeights: heights,
    statuses,
    outcomeConfirmedBy: confirmed,
    coverage,
  };
  return { evidence, feeLamports: outcome?.feeLamports ?? null };
}

async function askHeights(chain: Chain, from: number): Promise<NodeTestimony<bigint>[]> {
  const params = [{ commitment: 'finalized' }];
  const answers = await chain.pool.all((node) => node.call('getBlockHeight', params, u64));
  return answers.flatMap(({ node, result }, index) =>
    result.status === 'fulfilled' ? [{ node, sequence: from + index, answer: result.value }] : [],
  );
}

async function cover(
  chain: Chain,
  attempt: SignedAttempt,
  sequence: number,
  cache: BlockCache,
): Promise<SequencedCoverage | null> {
  const coverage = await linkedCoverage(chain.pool, attempt, deathHeight(attempt), cache);
  return coverage === null ? null : { ...coverage, sequence };
}

async function askStatuses(
  chain: Chain,
  signature: string,
  from: number,
): Promise<NodeTestimony<Sighting>[]> {
  const answers = await chain.statuses([signature]);
  return answers.flatMap(({ node, sightings: [answer] }, index) =>
    answer === undefined ? [] : [{ node, sequence: from + index, answer }],
  );
}
