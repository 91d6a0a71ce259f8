import { lowest } from '../../domain/bigint.ts';
import { DomainError, messageOf } from '../../domain/errors.ts';
import { reachedBy } from '../history/wallet-history.ts';
import { RpcError } from '../rpc/errors.ts';
import { getBlocks, getEpochInfo } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';

/** What nodes list. */
export interface Listed {
  /** The slots in which any of them lists a finalized block, ascending. */
  readonly slots: readonly bigint[];
  /** Those of them that a quorum lists: where no more nodes lie than may, each has a block. */
  readonly shared: readonly bigint[];
  /** What the others said, that list nothing. */
  readonly untold: readonly string[];
}

type Answers = Awaited<ReturnType<typeof NodePool.prototype.all<readonly bigint[]>>>;

/** Slots of the first list of a search; providers refuse 10,000, Agave 500,001. */
const WINDOW = 4_000n;
const NARROWEST = 500n;
const WIDEST = 500_000n;
/** A stretch without a block is looked through so far; what lies behind it is found from the tip. */
export const LOOKED_AHEAD = 500_000n;

/** The newest slot that a quorum has finalized: one that lags holds back, one that lies moves nothing. Throws NoHealthyNode. */
export function finalizedTip(pool: NodePool): Promise<bigint> {
  return tipOf(pool, 'finalized');
}

/** As {@link finalizedTip}, of what is confirmed. */
export function confirmedTip(pool: NodePool): Promise<bigint> {
  return tipOf(pool, 'confirmed');
}

async function tipOf(pool: NodePool, commitment: 'confirmed' | 'finalized'): Promise<bigint> {
  const answers = await pool.most((node) => getEpochInfo(node, commitment));
  const slots = answers.flatMap(({ result }) =>
    result.status === 'fulfilled' ? [result.value.absoluteSlot] : [],
  );
  const tip = reachedBy(pool.quorum, slots);
  if (tip !== null) return tip;
  const message = `${slots.length} nodes tell what they have ${commitment}, ${pool.quorum} must`;
  throw new DomainError('NoHealthyNode', message);
}

/**
 * The slots in which any node lists a finalized block, ascending. A hint of what to fetch: lists are short where a node lost its
 * ledger, and a list may name what does not exist. One that is late when a quorum has listed is not waited for. Empty where no node
 * answers.
 */
export async function listedSlots(pool: NodePool, from: bigint, to: bigint): Promise<readonly bigint[]> {
  return [...countsOf(await pool.most((node) => allListedBy(node, from, to))).keys()];
}

/**
 * The slots of the first blocks that nodes list from `from` on, up to `to`, however long the stretch without a block before them:
 * those of a few thousand slots of each node. `all` waits for every node, `most` as {@link listedSlots} does.
 */
export async function firstListed(
  pool: NodePool,
  from: bigint,
  to: bigint,
  asked: 'all' | 'most',
): Promise<Listed> {
  const answers = await pool[asked]((node) => firstListedBy(node, from, to));
  const untold = answers.flatMap(({ node, result }) =>
    result.status === 'rejected' ? [`${node}: ${messageOf(result.reason)}`] : [],
  );
  const counts = countsOf(answers);
  const shared = [...counts].flatMap(([slot, nodes]) => (nodes >= pool.quorum ? [slot] : []));
  return { slots: [...counts.keys()], shared, untold };
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
 * What a node lists in window after window, in any order within one. Each is wider than the one before until the node takes that no
 * more: how many slots it lists at once is its provider's to say.
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

/** A node that has listed the narrower one before, and fails now, does not list so many. */
function mayBeTooWide(error: unknown, width: bigint): boolean {
  return width > WINDOW || (width > NARROWEST && error instanceof RpcError && error.reaction === 'fatal');
}

async function listBy(node: SolanaNode, from: bigint, to: bigint): Promise<readonly bigint[]> {
  const listed = await getBlocks(node, from, to);
  return [...new Set(listed)].filter((slot) => slot >= from && slot <= to);
}

/** How many nodes list each slot, in ascending order. */
function countsOf(answers: Answers): ReadonlyMap<bigint, number> {
  const counts = new Map<bigint, number>();
  for (const { result } of answers)
    for (const slot of result.status === 'fulfilled' ? result.value : [])
      counts.set(slot, (counts.get(slot) ?? 0) + 1);
  return new Map([...counts].toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
}
