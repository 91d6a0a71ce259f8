import { DomainError, messageOf } from '../../domain/errors.ts';
import { ascending, lowest } from '../../domain/units.ts';
import { RpcError } from '../rpc/errors.ts';
import { getBlocks, getEpochInfo } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, highestQuorumValue, type NodeResult } from '../rpc/quorum.ts';

export interface SlotList {
  /** The slots in which any node lists a finalized block, ascending. */
  readonly slots: readonly bigint[];
  /** The slots in which a quorum lists a block, ascending. */
  readonly agreedSlots: readonly bigint[];
  /** One text for each node that failed: its name and its error. */
  readonly failures: readonly string[];
}

/** Slots of the first `getBlocks` request of a search. Some providers refuse 10,000 slots; Agave refuses 500,001. */
const FIRST_WINDOW_SLOTS = 4_000n;
const MIN_WINDOW_SLOTS = 500n;
const MAX_WINDOW_SLOTS = 500_000n;
/**
 * Maximum length of a range without blocks that is searched for the next block. Beyond it, the search starts at the
 * tip.
 */
export const MAX_LOOKAHEAD_SLOTS = 500_000n;

/** The newest slot that a quorum has finalized, so that no single false answer can move it. Throws NoHealthyNode. */
export function finalizedTip(pool: NodePool): Promise<bigint> {
  return tipOf(pool, 'finalized');
}

/** Like {@link finalizedTip}, for confirmed slots. */
export function confirmedTip(pool: NodePool): Promise<bigint> {
  return tipOf(pool, 'confirmed');
}

async function tipOf(pool: NodePool, commitment: 'confirmed' | 'finalized'): Promise<bigint> {
  const answers = answersIn(await pool.most((node) => getEpochInfo(node, commitment)));
  const slots = answers.map(({ answer }) => answer.absoluteSlot);
  const tip = highestQuorumValue(slots, pool.quorum);
  if (tip !== null) return tip;
  const message = `${slots.length} nodes return their ${commitment} slot; a quorum needs ${pool.quorum}`;
  throw new DomainError('NoHealthyNode', message);
}

/**
 * The slots in which any node lists a finalized block, ascending; empty if no node answers. Use the list only to decide
 * what to fetch: a node can omit blocks that it has lost, and can list blocks that do not exist. Slow nodes are not
 * waited for after a quorum has answered.
 */
export async function listedSlots(pool: NodePool, from: bigint, to: bigint): Promise<readonly bigint[]> {
  return [...nodeCountsBySlot(await pool.most((node) => slotsListedBy(node, from, to))).keys()];
}

/**
 * The slots of the first blocks that nodes list from `from` to `to`: from each node, its first window with a block.
 * With `waitFor: 'most'`, slow nodes are not waited for; see {@link listedSlots}.
 */
export async function firstListedSlots(
  pool: NodePool,
  from: bigint,
  to: bigint,
  waitFor: 'all' | 'most',
): Promise<SlotList> {
  const answers = await pool[waitFor]((node) => firstSlotsListedBy(node, from, to));
  const failures = answers.flatMap(({ node, result }) =>
    result.status === 'rejected' ? [`${node}: ${messageOf(result.reason)}`] : [],
  );
  const counts = nodeCountsBySlot(answers);
  const agreedSlots = [...counts].flatMap(([slot, nodes]) => (nodes >= pool.quorum ? [slot] : []));
  return { slots: [...counts.keys()], agreedSlots, failures };
}

async function slotsListedBy(node: SolanaNode, from: bigint, to: bigint): Promise<readonly bigint[]> {
  const slots: bigint[] = [];
  for await (const window of windowsOf(node, from, to)) slots.push(...window);
  return slots;
}

async function firstSlotsListedBy(node: SolanaNode, from: bigint, to: bigint): Promise<readonly bigint[]> {
  for await (const window of windowsOf(node, from, to)) if (window.length > 0) return window;
  return [];
}

/**
 * The slots that one node lists from `from` to `to`, in successive windows; a window is not sorted. Each window is
 * wider than the one before until the node refuses it, because the maximum width depends on the provider.
 */
export async function* windowsOf(
  node: SolanaNode,
  from: bigint,
  to: bigint,
): AsyncGenerator<readonly bigint[]> {
  let [width, maxWidth] = [FIRST_WINDOW_SLOTS, MAX_WINDOW_SLOTS];
  for (let next = from; next <= to; ) {
    const end = lowest([to, next + width - 1n]);
    const slots = await listSlots(node, next, end).catch((error: unknown) => {
      if (mightBeTooWide(error, width)) return null;
      throw error;
    });
    if (slots === null) {
      width /= 2n;
      maxWidth = width;
      continue;
    }
    yield slots;
    next = end + 1n;
    width = lowest([2n * width, maxWidth]);
  }
}

/**
 * True if the node might have refused the request because of its width. For a width above
 * FIRST_WINDOW_SLOTS every error counts, because the node has already listed a narrower window.
 */
function mightBeTooWide(error: unknown, width: bigint): boolean {
  return (
    width > FIRST_WINDOW_SLOTS ||
    (width > MIN_WINDOW_SLOTS && error instanceof RpcError && error.reaction === 'fatal')
  );
}

async function listSlots(node: SolanaNode, from: bigint, to: bigint): Promise<readonly bigint[]> {
  const listed = await getBlocks(node, from, to);
  return [...new Set(listed)].filter((slot) => slot >= from && slot <= to);
}

function nodeCountsBySlot(results: readonly NodeResult<readonly bigint[]>[]): ReadonlyMap<bigint, number> {
  const counts = new Map<bigint, number>();
  for (const { answer } of answersIn(results))
    for (const slot of answer) counts.set(slot, (counts.get(slot) ?? 0) + 1);
  return new Map([...counts].toSorted(([a], [b]) => ascending(a, b)));
}
