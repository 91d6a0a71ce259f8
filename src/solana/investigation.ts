import pLimit from 'p-limit';
import type {
  AgreedBlock,
  AttemptFacts,
  Displacement,
  Evidence,
  NodeTestimony,
  OutcomeEvidence,
  Sighting,
} from '../domain/attempt.ts';
import { chunksOf } from '../domain/chunks.ts';
import { messageOf } from '../domain/errors.ts';
import { claimedHeight, deathHeight, firstHash } from '../domain/judge.ts';
import { confirmAbsence, historyStarts } from './absence.ts';
import {
  agreedBlock,
  type BlockCache,
  coverageOf,
  findDisplacement,
  type LinkedRange,
  linkedRange,
} from './blocks.ts';
import type { Chain } from './chain.ts';
import { type AskOutcome, askOutcome, type Outcome } from './outcomes.ts';
import type { SolanaNode } from './rpc/node.ts';
import { NOT_SHOWN, type Spending } from './spending.ts';

/** The evidence for a verdict, and what it cost where a second node showed the transaction. */
export interface Investigation {
  readonly evidence: Evidence;
  readonly spending: Spending;
  /** What nodes did not tell, with their names; null where nothing is missing. */
  readonly obstacle: string | null;
}

/** An attempt that has a signature. */
export type SignedAttempt = AttemptFacts & { readonly signature: string };

/** Signatures that one getSignatureStatuses takes. */
export const STATUSES_PER_CALL = 256;

const AT_ONCE = 8;

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
export function whyUnseconded(
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
    const blocks = { stillTaking, origin, displacement, coverage };
    const evidence = { ...found, ...blocks, finalizedHeights: heights };
    return { evidence, spending, obstacle: missing(chain, heights, obstacle, said) };
  });
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
      answer.kind === 'unreadable' ? [`no status from ${node}: ${answer.why}`] : [],
    ),
  ];
  return faults.length === 0 ? null : faults.join('; ');
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
  const answers = await pool.all((node) => askOutcome(node, signature));
  const shown = answers.flatMap(({ result }) => (result.status === 'fulfilled' ? (result.value ?? []) : []));
  const sightings = shown.map((outcome) => ({ outcome, answer: finalSighting(outcome) }));
  const seconded = sightings.find(({ answer }) => shown.filter((other) => isSame(answer, other)).length > 1);
  const witness = seconded ?? sightings[0];
  return witness === undefined ? null : { node: witness.outcome.node, sequence, answer: witness.answer };
}

function finalSighting({ slot, error }: Outcome): Sighting {
  return { kind: 'seen', commitment: 'finalized', slot, error, atSlot: null };
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

/** For each signature what every node says of it, history included; sequences begin at `from`. */
export async function askStatuses(
  chain: Chain,
  signatures: readonly string[],
  from: number,
): Promise<readonly NodeTestimony<Sighting>[][]> {
  const pieces = await pLimit(AT_ONCE).map(chunksOf(signatures, STATUSES_PER_CALL), async (piece) => {
    const answers = await chain.statuses(piece);
    return piece.map((_, at) =>
      answers.flatMap(({ node, sightings }, index) => {
        const answer = sightings[at];
        return answer === undefined ? [] : [{ node, sequence: from + index, answer }];
      }),
    );
  });
  return pieces.flat();
}
