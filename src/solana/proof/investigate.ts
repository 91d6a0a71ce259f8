import pLimit from 'p-limit';
import type {
  AgreedBlock,
  AttemptFacts,
  Coverage,
  Displacement,
  Evidence,
  NodeTestimony,
  Sighting,
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

/** The evidence for a verdict, and what it cost where a second node showed the transaction. */
export interface Investigation {
  readonly evidence: Evidence;
  readonly spending: Spending;
  /** What nodes did not tell, with their names; null where nothing is missing. */
  readonly obstacle: string | null;
}

/** An attempt that has a signature. */
export type SignedAttempt = AttemptFacts & { readonly signature: string };

const AT_ONCE = 8;

/**
 * Everything a verdict on old attempts needs, asked in the order that a proof of death demands: after `heights` the block of
 * the blockhash and those linked to it, and after them the statuses with history. Attempts of one blockhash share their blocks, all
 * share the questions for statuses; still each has a proof of its own. Answers in the order of `attempts`.
 */
export async function investigate(
  chain: Chain,
  attempts: readonly SignedAttempt[],
  heights: readonly NodeTestimony<bigint>[],
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
 * What the blocks up to L contradict: a finalized sighting, and one below finalized after them, where its blockhash has expired. A
 * sighting within their slots may be of a fork that died.
 */
function refutedBy(coverage: Coverage | null) {
  return ({ answer }: NodeTestimony<Sighting>): boolean =>
    answer.kind === 'seen' &&
    (answer.commitment === 'finalized' || (coverage !== null && answer.slot > coverage.last.slot));
}

function missing(
  chain: Chain,
  heights: readonly NodeTestimony<bigint>[],
  ofBlocks: string | null,
  statuses: readonly NodeTestimony<Sighting>[],
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

/** One reading for all attempts of the same blockhash, first block and last height. */
async function readBlocks(
  chain: Chain,
  attempts: readonly SignedAttempt[],
  heights: readonly NodeTestimony<bigint>[],
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
 * The attempt's first block; and where a quorum of `heights` is above the last height, who still takes the blockhash, and
 * the range above it, or what displaced it.
 */
export async function readBlocksOf(
  chain: Chain,
  attempt: AttemptFacts,
  heights: readonly NodeTestimony<bigint>[],
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

/** For each signature what every node says of it, history included, but see {@link believedStatuses}; sequences begin at `from`. */
export async function askStatuses(
  chain: Chain,
  signatures: readonly string[],
  from: number,
): Promise<readonly (readonly NodeTestimony<Sighting>[])[]> {
  const pieces = await pLimit(AT_ONCE).map(chunksOf(signatures, STATUSES_PER_CALL), async (piece) => {
    const answers = await chain.statuses(piece);
    return piece.map((_, at) => {
      const statuses = answers.flatMap(({ node, sightings }, index) => {
        const answer = sightings[at];
        return answer === undefined ? [] : [{ node, sequence: from + index, answer }];
      });
      return believedStatuses(chain.pool, statuses);
    });
  });
  return pieces.flat();
}
