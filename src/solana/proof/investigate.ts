import pLimit from 'p-limit';
import type {
  AgreedBlock,
  AttemptFacts,
  Coverage,
  Displacement,
  Evidence,
  NodeAnswer,
  StatusObservation,
} from '../../domain/attempt.ts';
import { chunksOf } from '../../domain/chunks.ts';
import { messageOf } from '../../domain/errors.ts';
import type { Chain } from '../chain.ts';
import { confirmAbsence, historyStarts } from './absence.ts';
import { believedStatuses, confirmOutcome, distrustRefuted } from './confirm-outcome.ts';
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
import { STATUSES_PER_CALL } from './statuses.ts';

/** The evidence for a verdict, and the cost if a second node returned the transaction. */
export interface Investigation {
  readonly evidence: Evidence;
  readonly spending: Spending;
  /** The answers that are missing, with node names; null if none is missing. */
  readonly obstacle: string | null;
}

export type SignedAttempt = AttemptFacts & { readonly signature: string };

const AT_ONCE = 8;

/**
 * Gathers the evidence for due attempts in the order that a proof of death needs: after `heights` the linked blocks
 * from that of the blockhash, then the statuses with history. Attempts with the same blockhash share blocks, and all
 * share status calls; each still gets its own proof. Results are in the order of `attempts`.
 */
export async function investigate(
  chain: Chain,
  attempts: readonly SignedAttempt[],
  heights: readonly NodeAnswer<bigint>[],
  cache: BlockCache,
): Promise<readonly Investigation[]> {
  const sequence = chain.pool.nodes.length + 1;
  const readings = await readBlocks(chain, attempts, heights, cache);
  const statuses = await askStatuses(
    chain,
    attempts.map((attempt) => attempt.signature),
    sequence + 1,
  );
  const isRead = ({ range, gone }: BlockReading) => range !== null || gone !== null;
  const starts = [...readings.values()].some(isRead) ? await historyStarts(chain.pool) : new Map();
  return pLimit(AT_ONCE).map(attempts, async (attempt, index) => {
    const { stillTaking, origin, gone, range, obstacle } = readings.get(rangeKey(attempt)) ?? NOT_READ;
    const displacement = gone === null ? null : { ...gone, sequence };
    const coverage = range === null ? null : { ...coverageOf(range, attempt.signature), sequence };
    const told = statuses[index] ?? [];
    const isIncluded = coverage?.containsSignature === true;
    const isLacking = displacement !== null || coverage?.containsSignature === false;
    const said = isLacking ? await confirmAbsence(chain, attempt.signature, told, starts) : told;
    const { spending, ...found } = await confirmOutcome(chain, attempt.signature, said, isIncluded);
    if (isLacking && found.outcomeConfirmedBy.length === 0)
      distrustRefuted(chain.pool, said.filter(refutedBy(coverage)), attempt.signature);
    const blocks = { stillTaking, origin, displacement, coverage };
    const evidence = { ...found, ...blocks, finalizedHeights: heights };
    return { evidence, spending, obstacle: missing(chain, heights, obstacle, said) };
  });
}

/**
 * True for a status that the blocks up to L contradict: it is finalized, or in a slot after these blocks. After them
 * the blockhash has expired. A status within their slots may come from a dead fork.
 */
function refutedBy(coverage: Coverage | null) {
  return ({ answer }: NodeAnswer<StatusObservation>): boolean =>
    answer.kind === 'seen' &&
    (answer.commitment === 'finalized' || (coverage !== null && answer.slot > coverage.last.slot));
}

function missing(
  chain: Chain,
  heights: readonly NodeAnswer<bigint>[],
  ofBlocks: string | null,
  statuses: readonly NodeAnswer<StatusObservation>[],
): string | null {
  const heard = new Set(heights.map(({ node }) => node));
  const silent = chain.pool.nodes.map(({ name }) => name).filter((name) => !heard.has(name));
  const faults = [
    ...(silent.length === 0 ? [] : [`no height from ${silent.join(', ')}`]),
    ...(ofBlocks === null ? [] : [ofBlocks]),
    ...statuses.flatMap(({ node, answer }) =>
      answer.kind === 'unreadable' ? [`no status from ${node}: ${answer.reason}`] : [],
    ),
  ];
  return faults.length === 0 ? null : faults.join('; ');
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
  heights: readonly NodeAnswer<bigint>[],
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
  heights: readonly NodeAnswer<bigint>[],
  cache: BlockCache,
): Promise<BlockReading> {
  const { blockhash, blockhashSlot, adoptedFrom } = attempt;
  const { pool } = chain;
  const isPast = (last: bigint) => heights.filter(({ answer }) => answer > last).length >= pool.quorum;
  const shown = await agreedBlock(pool, blockhashSlot);
  const origin = shown?.blockhash === firstHash(attempt) ? shown : null;
  try {
    if (origin !== null) {
      const last = deathHeight(attempt, origin.height);
      if (!isPast(last)) return { ...NOT_READ, origin };
      const silence = adoptedFrom === null ? 'says nothing' : 'counts';
      const stillTaking = await chain.stillTaking(blockhash, silence);
      return { ...NOT_READ, stillTaking, origin, range: await linkedRange(pool, origin, last, cache) };
    }
    if (adoptedFrom === null && isPast(claimedHeight(attempt))) {
      const stillTaking = await chain.stillTaking(blockhash);
      return { ...NOT_READ, stillTaking, gone: await findDisplacement(pool, blockhashSlot) };
    }
    return {
      ...NOT_READ,
      obstacle: `no quorum shows blockhash ${firstHash(attempt)} in slot ${blockhashSlot}`,
    };
  } catch (error) {
    return { ...NOT_READ, origin, obstacle: messageOf(error) };
  }
}

function rangeKey(attempt: SignedAttempt): string {
  return `${attempt.blockhash}/${attempt.adoptedFrom}/${attempt.blockhashSlot}/${claimedHeight(attempt)}`;
}

/** Every node's status of each signature, filtered by {@link believedStatuses}; sequences begin at `from`. */
export async function askStatuses(
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
      return believedStatuses(chain.pool, statuses);
    });
  });
  return pieces.flat();
}
