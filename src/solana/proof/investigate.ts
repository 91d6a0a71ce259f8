import pLimit from 'p-limit';
import type {
  AgreedBlock,
  AttemptFacts,
  Coverage,
  Displacement,
  Evidence,
  NodeAnswer,
  OutcomeEvidence,
  StatusObservation,
} from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import { messageOf } from '../../domain/errors.ts';
import { type BlockHeight, isAbove, type Signature } from '../../domain/units.ts';
import type { Chain } from '../chain.ts';
import { confirmOutcome, distrustRefuted, trustedStatuses } from './confirm-outcome.ts';
import { agreedLastHeight, claimedLastHeight, firstBlockhash } from './judge.ts';
import {
  agreedBlock,
  type BlockCache,
  coverageOf,
  findDisplacement,
  type LinkedRange,
  linkedRange,
} from './linked-blocks.ts';
import type { Spending } from './spending.ts';
import { confirmAbsence, historyStarts, STATUSES_PER_CALL } from './statuses.ts';

/** Evidence for a verdict. `spending` is what the transaction charged, if a second node returned it. */
export interface Investigation<E extends OutcomeEvidence = Evidence> {
  readonly evidence: E;
  readonly spending: Spending;
  /** Description of the missing node answers, with node names; null if none is missing. */
  readonly obstacle: string | null;
}

export type SignedAttempt = AttemptFacts & { readonly signature: Signature };

const MAX_CONCURRENT_READS = 8;

/**
 * Gathers the evidence for due attempts in the order that a proof of `dead` needs: after `heights`, the linked blocks
 * from the first block, then the statuses with history. Attempts with the same blockhash share blocks, and all share
 * status calls. Results are in the order of `attempts`.
 */
export async function investigate(
  chain: Chain,
  attempts: readonly SignedAttempt[],
  heights: readonly NodeAnswer<BlockHeight>[],
  cache: BlockCache,
): Promise<readonly Investigation[]> {
  const sequence = chain.pool.nodes.length + 1;
  const readings = await readBlocks(chain, attempts, heights, cache);
  const answeringNodes = new Set(heights.map(({ node }) => node));
  const silentNodes = chain.pool.nodes.map(({ name }) => name).filter((name) => !answeringNodes.has(name));
  const missingHeights = silentNodes.length === 0 ? [] : [`no height from ${silentNodes.join(', ')}`];
  const unfinished = attempts.map((attempt) => {
    const reading = readings.get(rangeKey(attempt)) ?? NOT_READ;
    const { stillTaking, origin, range, obstacle } = reading;
    const displacement = reading.displacement === null ? null : { ...reading.displacement, sequence };
    const coverage = range === null ? null : { ...coverageOf(range, attempt.signature), sequence };
    const isAbsent = displacement !== null || coverage?.containsSignature === false;
    return {
      signature: attempt.signature,
      facts: { stillTaking, origin, displacement, coverage, finalizedHeights: heights },
      isIncluded: coverage?.containsSignature === true,
      isAbsent,
      refutation: isAbsent ? { contradicts: contradictedBy(coverage), proof: BLOCKS_LACK_IT } : null,
      obstacles: [...missingHeights, ...(obstacle === null ? [] : [obstacle])],
    };
  });
  return withOutcomes(chain, unfinished, sequence + 1);
}

/** An investigation before the statuses are read. */
interface UnfinishedInvestigation<Found> {
  readonly signature: Signature;
  readonly facts: Found;
  /** Finalized blocks contain the transaction, so two nodes that return its outcome take the place of a status. */
  readonly isIncluded: boolean;
  /**
   * No block that could contain the transaction does, so nodes without a status are asked for the transaction itself.
   */
  readonly isAbsent: boolean;
  /** `contradicts`: whether a status contradicts `proof`, which is as in {@link distrustRefuted}. */
  readonly refutation: {
    readonly contradicts: (status: NodeAnswer<StatusObservation>) => boolean;
    readonly proof: string;
  } | null;
  readonly obstacles: readonly string[];
}

export const BLOCKS_LACK_IT = "a quorum's blocks lack it";

/** Adds every node's status, with sequences that start at `firstSequence`, and a second node's outcome. */
export async function withOutcomes<Found extends object>(
  chain: Chain,
  unfinished: readonly UnfinishedInvestigation<Found>[],
  firstSequence: number,
): Promise<readonly Investigation<OutcomeEvidence & Found>[]> {
  const { pool } = chain;
  const signatures = unfinished.map(({ signature }) => signature);
  const statuses = await askStatuses(chain, signatures, firstSequence);
  const starts = unfinished.some(({ isAbsent }) => isAbsent) ? await historyStarts(pool) : new Map();
  return pLimit(MAX_CONCURRENT_READS).map(
    unfinished,
    async ({ signature, facts, isIncluded, isAbsent, refutation, obstacles }, index) => {
      const initialStatuses = statuses[index] ?? [];
      const checkedStatuses = isAbsent
        ? await confirmAbsence(pool, signature, initialStatuses, starts)
        : initialStatuses;
      const { spending, ...outcome } = await confirmOutcome(chain, signature, checkedStatuses, isIncluded);
      if (refutation !== null && outcome.outcomeConfirmedBy.length === 0)
        distrustRefuted(pool, checkedStatuses.filter(refutation.contradicts), signature, refutation.proof);
      const unreadable = checkedStatuses.flatMap(({ node, answer }) =>
        answer.kind === 'unreadable' ? [`no status from ${node}: ${answer.reason}`] : [],
      );
      const obstacle = [...obstacles, ...unreadable].join('; ') || null;
      return { evidence: { ...outcome, ...facts }, spending, obstacle };
    },
  );
}

/**
 * Returns a test for statuses that contradict the linked blocks up to L: a finalized status, or one in a slot after
 * them, when the blockhash has expired. A status in an earlier slot does not: it can come from an abandoned fork.
 */
function contradictedBy(coverage: Coverage | null) {
  return ({ answer }: NodeAnswer<StatusObservation>): boolean =>
    answer.kind === 'seen' &&
    (answer.commitment === 'finalized' || (coverage !== null && isAbove(answer.slot, coverage.last.slot)));
}

interface BlockReading {
  readonly stillTaking: readonly string[];
  readonly origin: AgreedBlock | null;
  readonly displacement: Omit<Displacement, 'sequence'> | null;
  readonly range: LinkedRange | null;
  readonly obstacle: string | null;
}

const NOT_READ: BlockReading = {
  stillTaking: [],
  origin: null,
  displacement: null,
  range: null,
  obstacle: null,
};

/** Reads the blocks of all attempts, only once for those with the same blockhash, first block and last height. */
async function readBlocks(
  chain: Chain,
  attempts: readonly SignedAttempt[],
  heights: readonly NodeAnswer<BlockHeight>[],
  cache: BlockCache,
): Promise<ReadonlyMap<string, BlockReading>> {
  const groups = new Map(attempts.map((attempt) => [rangeKey(attempt), attempt]));
  const read = async ([key, attempt]: [string, SignedAttempt]): Promise<[string, BlockReading]> => [
    key,
    await readBlocksOf(chain, attempt, heights, cache),
  ];
  return new Map(await pLimit(MAX_CONCURRENT_READS).map(groups, read));
}

/**
 * Reads the attempt's first block. If a quorum of `heights` is above the last height (L), also reads which nodes still
 * accept the blockhash, and either the linked blocks up to one above L or the block that displaced the first block.
 */
export async function readBlocksOf(
  chain: Chain,
  attempt: AttemptFacts,
  heights: readonly NodeAnswer<BlockHeight>[],
  cache: BlockCache,
): Promise<BlockReading> {
  const { blockhash, blockhashSlot, adoptedFrom } = attempt;
  const { pool } = chain;
  const isPast = (last: BlockHeight) =>
    heights.filter(({ answer }) => isAbove(answer, last)).length >= pool.quorum;
  const agreed = await agreedBlock(pool, blockhashSlot);
  const origin = agreed?.blockhash === firstBlockhash(attempt) ? agreed : null;
  try {
    if (origin !== null) {
      const last = agreedLastHeight(attempt, origin.height);
      if (!isPast(last)) return { ...NOT_READ, origin };
      const failedNodes = adoptedFrom === null ? 'excluded' : 'included';
      const stillTaking = await chain.nodesAccepting(blockhash, failedNodes);
      return { ...NOT_READ, stillTaking, origin, range: await linkedRange(pool, origin, last, cache) };
    }
    if (adoptedFrom === null && isPast(claimedLastHeight(attempt))) {
      const stillTaking = await chain.nodesAccepting(blockhash);
      return { ...NOT_READ, stillTaking, displacement: await findDisplacement(pool, blockhashSlot) };
    }
    return {
      ...NOT_READ,
      obstacle: `no quorum returns a block with hash ${firstBlockhash(attempt)} in slot ${blockhashSlot}`,
    };
  } catch (error) {
    return { ...NOT_READ, origin, obstacle: messageOf(error) };
  }
}

function rangeKey(attempt: SignedAttempt): string {
  return `${attempt.blockhash}/${attempt.adoptedFrom}/${attempt.blockhashSlot}/${claimedLastHeight(attempt)}`;
}

/** Every node's status of each signature, filtered by {@link trustedStatuses}. Sequences start at `firstSequence`. */
async function askStatuses(
  chain: Chain,
  signatures: readonly string[],
  firstSequence: number,
): Promise<readonly (readonly NodeAnswer<StatusObservation>[])[]> {
  const chunks = await pLimit(MAX_CONCURRENT_READS).map(
    chunksOf(signatures, STATUSES_PER_CALL),
    async (chunk) => {
      const answers = await chain.statuses(chunk);
      return chunk.map((_, at) => {
        const statuses = answers.flatMap(({ node, observations }, index) => {
          const answer = observations[at];
          return answer === undefined ? [] : [{ node, sequence: firstSequence + index, answer }];
        });
        return trustedStatuses(chain.pool, statuses);
      });
    },
  );
  return chunks.flat();
}
