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
import { claimedHeight, deathHeight, firstHash } from './judge.ts';
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

/** The evidence for a verdict, and the cost if a second node returned the transaction. */
export interface Investigation<E extends OutcomeEvidence = Evidence> {
  readonly evidence: E;
  readonly spending: Spending;
  /** The answers that are missing, with node names; null if none is missing. */
  readonly obstacle: string | null;
}

export type SignedAttempt = AttemptFacts & { readonly signature: Signature };

const AT_ONCE = 8;

/**
 * Gathers the evidence for due attempts in the order that a proof of death needs: after `heights` the linked blocks
 * from that of the blockhash, then the statuses with history. Attempts with the same blockhash share blocks, and all
 * share status calls; each still gets its own proof. Results are in the order of `attempts`.
 */
export async function investigate(
  chain: Chain,
  attempts: readonly SignedAttempt[],
  heights: readonly NodeAnswer<BlockHeight>[],
  cache: BlockCache,
): Promise<readonly Investigation[]> {
  const sequence = chain.pool.nodes.length + 1;
  const readings = await readBlocks(chain, attempts, heights, cache);
  const answering = new Set(heights.map(({ node }) => node));
  const silent = chain.pool.nodes.map(({ name }) => name).filter((name) => !answering.has(name));
  const noHeight = silent.length === 0 ? [] : [`no height from ${silent.join(', ')}`];
  const known = attempts.map((attempt) => {
    const { stillTaking, origin, gone, range, obstacle } = readings.get(rangeKey(attempt)) ?? NOT_READ;
    const displacement = gone === null ? null : { ...gone, sequence };
    const coverage = range === null ? null : { ...coverageOf(range, attempt.signature), sequence };
    const isAbsent = displacement !== null || coverage?.containsSignature === false;
    return {
      signature: attempt.signature,
      found: { stillTaking, origin, displacement, coverage, finalizedHeights: heights },
      isIncluded: coverage?.containsSignature === true,
      isAbsent,
      refutes: isAbsent ? { isFalse: refutedBy(coverage), proof: BLOCKS_LACK_IT } : null,
      obstacles: [...noHeight, ...(obstacle === null ? [] : [obstacle])],
    };
  });
  return withOutcomes(chain, known, sequence + 1);
}

/** What is known of an attempt before its statuses are. */
interface Known<Found> {
  readonly signature: Signature;
  readonly found: Found;
  /** Finalized blocks contain it: then two nodes that return its outcome replace a missing status. */
  readonly isIncluded: boolean;
  /** It is in no block that it could be in: nodes without a status are asked for the transaction itself. */
  readonly isAbsent: boolean;
  /** The statuses that contradict a proof, and that proof as {@link distrustRefuted} takes it. */
  readonly refutes: {
    readonly isFalse: (status: NodeAnswer<StatusObservation>) => boolean;
    readonly proof: string;
  } | null;
  readonly obstacles: readonly string[];
}

export const BLOCKS_LACK_IT = "a quorum's blocks lack it";

/** Adds the statuses of all nodes, with sequences from `from`, and a second node's outcome. */
export async function withOutcomes<Found extends object>(
  chain: Chain,
  known: readonly Known<Found>[],
  from: number,
): Promise<readonly Investigation<OutcomeEvidence & Found>[]> {
  const { pool } = chain;
  const signatures = known.map(({ signature }) => signature);
  const statuses = await askStatuses(chain, signatures, from);
  const starts = known.some(({ isAbsent }) => isAbsent) ? await historyStarts(pool) : new Map();
  return pLimit(AT_ONCE).map(
    known,
    async ({ signature, found, isIncluded, isAbsent, refutes, obstacles }, index) => {
      const reported = statuses[index] ?? [];
      const confirmed = isAbsent ? await confirmAbsence(pool, signature, reported, starts) : reported;
      const { spending, ...outcome } = await confirmOutcome(chain, signature, confirmed, isIncluded);
      if (refutes !== null && outcome.outcomeConfirmedBy.length === 0)
        distrustRefuted(pool, confirmed.filter(refutes.isFalse), signature, refutes.proof);
      const unreadable = confirmed.flatMap(({ node, answer }) =>
        answer.kind === 'unreadable' ? [`no status from ${node}: ${answer.reason}`] : [],
      );
      const obstacle = [...obstacles, ...unreadable].join('; ') || null;
      return { evidence: { ...outcome, ...found }, spending, obstacle };
    },
  );
}

/**
 * True for a status that the blocks up to L contradict: it is finalized, or in a slot after these blocks. After them
 * the blockhash has expired. A status within their slots may come from a dead fork.
 */
function refutedBy(coverage: Coverage | null) {
  return ({ answer }: NodeAnswer<StatusObservation>): boolean =>
    answer.kind === 'seen' &&
    (answer.commitment === 'finalized' || (coverage !== null && isAbove(answer.slot, coverage.last.slot)));
}

interface BlockReading {
  readonly stillTaking: readonly string[];
  readonly origin: AgreedBlock | null;
  readonly gone: Omit<Displacement, 'sequence'> | null;
  readonly range: LinkedRange | null;
  readonly obstacle: string | null;
}

const NOT_READ: BlockReading = { stillTaking: [], origin: null, gone: null, range: null, obstacle: null };

/** Reads the blocks once for all attempts with the same blockhash, first block and last height. */
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
  return new Map(await pLimit(AT_ONCE).map(groups, read));
}

/**
 * Reads the attempt's first block. If a quorum of `heights` is above the last height, also reads which nodes still
 * accept the blockhash. Then it reads the linked blocks up to one above L, or the block that displaced the first one.
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
  const shown = await agreedBlock(pool, blockhashSlot);
  const origin = shown?.blockhash === firstHash(attempt) ? shown : null;
  try {
    if (origin !== null) {
      const last = deathHeight(attempt, origin.height);
      if (!isPast(last)) return { ...NOT_READ, origin };
      const failed = adoptedFrom === null ? 'excluded' : 'included';
      const stillTaking = await chain.stillTaking(blockhash, failed);
      return { ...NOT_READ, stillTaking, origin, range: await linkedRange(pool, origin, last, cache) };
    }
    if (adoptedFrom === null && isPast(claimedHeight(attempt))) {
      const stillTaking = await chain.stillTaking(blockhash);
      return { ...NOT_READ, stillTaking, gone: await findDisplacement(pool, blockhashSlot) };
    }
    return {
      ...NOT_READ,
      obstacle: `no quorum returns blockhash ${firstHash(attempt)} in slot ${blockhashSlot}`,
    };
  } catch (error) {
    return { ...NOT_READ, origin, obstacle: messageOf(error) };
  }
}

function rangeKey(attempt: SignedAttempt): string {
  return `${attempt.blockhash}/${attempt.adoptedFrom}/${attempt.blockhashSlot}/${claimedHeight(attempt)}`;
}

/** Every node's status of each signature, filtered by {@link trustedStatuses}; sequences begin at `from`. */
async function askStatuses(
  chain: Chain,
  signatures: readonly string[],
  from: number,
): Promise<readonly (readonly NodeAnswer<StatusObservation>[])[]> {
  const pieces = await pLimit(AT_ONCE).map(chunksOf(signatures, STATUSES_PER_CALL), async (piece) => {
    const answers = await chain.statuses(piece);
    return piece.map((_, at) => {
      const statuses = answers.flatMap(({ node, observations }, index) => {
        const answer = observations[at];
        return answer === undefined ? [] : [{ node, sequence: from + index, answer }];
      });
      return trustedStatuses(chain.pool, statuses);
    });
  });
  return pieces.flat();
}
