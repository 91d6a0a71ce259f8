import { DomainError, messageOf } from '../../domain/errors.ts';
import { ascending, lowest } from '../../domain/units.ts';
import { RpcError } from '../rpc/errors.ts';
import { getBlocks, getEpochInfo } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { answersIn, highestQuorumValue, type NodeResult } from '../rpc/quorum.ts';

export interface Listed {
  /** The slots in which any node lists a finalized block, ascending. */
  readonly slots: readonly bigint[];
  /** The slots that a quorum lists: each has a block, unless too many nodes lie. */
  readonly shared: readonly bigint[];
  /** The nodes that failed, each with its error. */
  readonly failures: readonly string[];
}

/** Width of the first list of a search; providers refuse 10,000 slots, Agave 500,001. */
const WINDOW = 4_000n;
const NARROWEST = 500n;
const WIDEST = 500_000n;
/** How far a stretch without blocks is searched; blocks after it are found from the tip. */
export const LOOKED_AHEAD = 500_000n;

/** The newest slot that a quorum has finalized: no single lying node moves it. Throws NoHealthyNode. */
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
  const message = `${slots.length} nodes return their ${commitment} slot; ${pool.quorum} are needed`;
  throw new DomainError('NoHealthyNode', message);
}

/**
 * The slots in which any node lists a finalized block, ascending. Only a hint of what to fetch: a list is short if a
 * node lost its ledger, and may name blocks that do not exist. Late nodes are not waited for once a quorum has
 * answered. Empty if no node answers.
 */
export async function listedSlots(pool: NodePool, from: bigint, to: bigint): Promise<readonly bigint[]> {
  return [...countsOf(await pool.most((node) => allListedBy(node, from, to))).keys()];
}

/**
 * The slots of the first listed blocks from `from` to `to`, after a stretch without blocks of any length: a few
 * thousand slots per node. `all` waits for every node, `most` only as {@link listedSlots} does.
 */
export async function firstListed(
  pool: NodePool,
  from: bigint,
  to: bigint,
  asked: 'all' | 'most',
): Promise<Listed> {
  const answers = await pool[asked]((node) => firstListedBy(node, from, to));
  const failures = answers.flatMap(({ node, result }) =>
    result.status === 'rejected' ? [`${node}: ${messageOf(result.reason)}`] : [],
  );
  const counts = countsOf(answers);
  const shared = [...counts].flatMap(([slot, nodes]) => (nodes >= pool.quorum ? [slot] : []));
  return { slots: [...counts.keys()], shared, failures };
}

async function allListedBy(node: SolanaNode, from: bigint, to: bigint): Promise<readonly bigint[]> {
  const slots: bigint[] = [];
  for await (const window of windowsOf(node, from, to)) slots.push(...window);
  return slots;
}

async function firstListedBy(node: SolanaNode, from: bigint, to: bigint): Promise<readonly bigint[]> {
  for await (const window of windowsOf(node, from, to)) if (window.length > 0) return window;
  return [];
}

/**
 * A node's lists in successive windows, unordered within a window. Each window is wider than the one before, until
 * the node refuses it: the maximum depends on the provider.
 */
export async function* windowsOf(
  node: SolanaNode,
  from: bigint,
  to: bigint,
): AsyncGenerator<readonly bigint[]> {
  let [width, widest] = [WINDOW, WIDEST];
  for (let next = from; next <= to; ) {
    const end = lowest([to, next + width - 1n]);
    const slots = await listBy(node, next, end).catch((error: unknown) => {
      if (mayBeTooWide(error, width)) return null;
      throw error;
    });
    if (slots === null) {
      width /= 2n;
      widest = width;
      continue;
    }
    yield slots;
    next = end + 1n;
    width = lowest([2n * width, widest]);
  }
}

/** True if a failed list may have been too wide: the node has listed a narrower range before. */
function mayBeTooWide(error: unknown, width: bigint): boolean {
  return width > WINDOW || (width > NARROWEST && error instanceof RpcError && error.reaction === 'fatal');
}

async function listBy(node: SolanaNode, from: bigint, to: bigint): Promise<readonly bigint[]> {
  const listed = await getBlocks(node, from, to);
  return [...new Set(listed)].filter((slot) => slot >= from && slot <= to);
}

function countsOf(results: readonly NodeResult<readonly bigint[]>[]): ReadonlyMap<bigint, number> {
  const counts = new Map<bigint, number>();
  for (const { answer } of answersIn(results))
    for (const slot of answer) counts.set(slot, (counts.get(slot) ?? 0) + 1);
  return new Map([...counts].toSorted(([a], [b]) => ascending(a, b)));
}
