import pLimit from 'p-limit';
import { type BlockId, isSameBlock } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { NodeFault, RpcError } from '../rpc/errors.ts';
import { getBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { type Answer, agree, answersIn, versionsOf } from '../rpc/quorum.ts';
import { headerOf } from './block.ts';
import { listingOf } from './listing.ts';

/** A block with its transactions by signature only; `listed`: see {@link listingOf}. */
export interface ListedHeader extends BlockHeader {
  readonly listed: string;
}

/** A block that these nodes return alike, except for its time, which is that of a quorum or null. */
export interface ShownHeader {
  readonly header: ListedHeader;
  readonly nodes: readonly string[];
}

interface SlotAnswers {
  readonly versions: readonly ShownHeader[];
  readonly silent: readonly unknown[];
}

const AT_ONCE = 8;
/** Error codes of a node that does not have a block: cleaned up, skipped, or lost. */
const ABSENT: ReadonlySet<number> = new Set([-32001, -32007, -32009]);

/**
 * Headers of finalized blocks as a quorum returns them, with parents and transaction signatures. So a single node can
 * neither insert a block between two others, nor leave a transaction out. Each header costs one small call
 * (`transactionDetails: signatures`) to a quorum of nodes, and to all if they do not agree.
 */
export class HeaderQuorum {
  readonly #pool: NodePool;
  readonly #answers = new Map<bigint, SlotAnswers>();
  /** Slots in which a quorum has no block; the other nodes were not waited for. */
  readonly #absent = new Set<bigint>();

  constructor(pool: NodePool) {
    this.#pool = pool;
  }

  /** Requests the blocks of these slots, except those that a quorum has returned already. Never throws. */
  request(slots: readonly bigint[]): Promise<void> {
    return this.#request(slots, false);
  }

  /**
   * Like {@link request}, for slots in which a node lists a block. If a quorum answers that it has none, the other
   * nodes are not waited for, and their answers do not count. Never throws.
   */
  requestListed(slots: readonly bigint[]): Promise<void> {
    return this.#request(slots, true);
  }

  /**
   * Requests a block that its child names. If a quorum has lost it, other nodes may have it. Then all nodes are asked
   * about it, and about earlier slots in which a quorum has no block. Never throws.
   */
  async requestParent({ slot }: BlockId): Promise<void> {
    await this.request(this.#absent.has(slot) ? [...this.#absent].filter((other) => other <= slot) : [slot]);
  }

  agreed(slot: bigint): ListedHeader | undefined {
    const { versions = [] } = this.#answers.get(slot) ?? {};
    return versions.find(({ nodes }) => nodes.length >= this.#pool.quorum)?.header;
  }

  /**
   * The block with that name as a quorum returns it. Fewer nodes suffice if they outnumber those for any other block
   * of the slot, and all others answer that they have none. A node without an answer may know the block's
   * transactions better.
   */
  named(name: BlockId): ListedHeader | undefined {
    const { versions = [], silent = [] } = this.#answers.get(name.slot) ?? {};
    const [first, second] = versions;
    if (first === undefined || (second !== undefined && second.nodes.length >= first.nodes.length))
      return undefined;
    if (first.nodes.length < this.#pool.quorum && silent.length > 0) return undefined;
    return isSameBlock(first.header, name) ? first.header : undefined;
  }

  /**
   * Checks a chain, ascending from the cursor, with blocks that fewer nodes than a quorum return. Throws NodeFault if
   * as many nodes return a block that the chain leaves out. Asks every node about each slot in question.
   */
  async assertComplete(chain: readonly ListedHeader[]): Promise<void> {
    const fewest = Math.min(...chain.map((header) => this.nodesWith(header).length));
    const last = chain.at(-1);
    if (last === undefined || fewest >= this.#pool.quorum) return;
    const slots = new Set(chain.map(({ slot }) => slot));
    await this.request([...this.#absent].filter((slot) => slot < last.slot));
    for (const [slot, { versions }] of this.#answers) {
      const other = versions.find(({ nodes }) => nodes.length >= fewest);
      if (other === undefined || slots.has(slot) || slot > last.slot) continue;
      const { blockhash } = other.header;
      const message = `nodes contradict each other: one node returns block ${blockhash} in slot ${slot}, another node a chain without it`;
      throw new DomainError('NodeFault', message);
    }
  }

  /**
   * The other blocks that nodes return in the slot of a block that no node has, after every node has answered. That
   * is a gap, never a skipped slot. Throws NoHealthyNode if a node that does not answer may have the block, NodeFault
   * if some nodes have it.
   */
  async othersInSlot(name: BlockId): Promise<readonly ShownHeader[]> {
    const { versions, silent } = await this.#askAll(name.slot);
    const what = `block ${name.blockhash} of slot ${name.slot}`;
    const isWithSome = versions.some(({ header }) => isSameBlock(header, name));
    if (silent.length > 0) {
      const supporters = isWithSome ? 'too few nodes while others do not answer' : 'no node that answers now';
      throw new DomainError('NoHealthyNode', `${what} is returned by ${supporters}`, {}, silent[0]);
    }
    if (isWithSome)
      throw new DomainError(
        'NodeFault',
        `nodes contradict each other about ${what}: ${describeVersions(versions)}`,
      );
    return versions;
  }

  /** The nodes that returned this block with this parent and these transactions. */
  nodesWith(header: ListedHeader): readonly string[] {
    const { versions = [] } = this.#answers.get(header.slot) ?? {};
    return versions.find((version) => isSameListed(version.header, header))?.nodes ?? [];
  }

  dropTo(slot: bigint): void {
    for (const known of this.#answers.keys()) if (known <= slot) this.#answers.delete(known);
    for (const known of this.#absent) if (known <= slot) this.#absent.delete(known);
  }

  clear(): void {
    this.#answers.clear();
    this.#absent.clear();
  }

  async #request(slots: readonly bigint[], mayBeAbsent: boolean): Promise<void> {
    const open = slots.filter((slot) => this.agreed(slot) === undefined);
    await pLimit(AT_ONCE).map(open, async (slot) => {
      const answers = await this.#ask(slot, mayBeAbsent);
      if (answers !== null) {
        this.#answers.set(slot, answers);
        this.#absent.delete(slot);
      } else if (!this.#answers.has(slot)) this.#absent.add(slot);
    });
  }

  /** Null if a quorum answers that it has no block, and that `mayBeAbsent`. */
  async #ask(slot: bigint, mayBeAbsent: boolean): Promise<SlotAnswers | null> {
    const agreed = await this.#pool.agreed(
      (node, over) => readHeader(node, slot, over).catch(nullIfAbsent),
      (one, other) =>
        one === null || other === null ? mayBeAbsent && one === other : isSameTimed(one, other),
    );
    if (agreed === null) return this.#askAll(slot);
    const { answer: header, nodes } = agreed;
    return header === null ? null : { versions: [{ header, nodes }], silent: [] };
  }

  async #askAll(slot: bigint): Promise<SlotAnswers> {
    const results = await this.#pool.all((node, over) => readHeader(node, slot, over));
    const silent = results.flatMap(({ result }) =>
      result.status === 'rejected' && !isBlockMissing(result.reason) ? [result.reason as unknown] : [],
    );
    const headers = answersIn(results).flatMap(({ node, answer }) => (answer ? [{ node, answer }] : []));
    const versions = versionsOf(headers, isSameListed).map(({ answer, nodes }) => {
      const times = headers.filter(({ node }) => nodes.includes(node));
      return { header: { ...answer, time: agreedTime(times, this.#pool.quorum) }, nodes };
    });
    return { versions, silent };
  }
}

export function describeVersions(versions: readonly ShownHeader[]): string {
  return versions
    .map(({ header, nodes }) => `${nodes.join(', ')}: block ${header.blockhash} (height ${header.height})`)
    .join('; ');
}

export function isSameHeader(one: BlockHeader, other: BlockHeader): boolean {
  const sameParent = one.parentSlot === other.parentSlot && one.previousBlockhash === other.previousBlockhash;
  return sameParent && isSameBlock(one, other);
}

export function isSameListed(one: ListedHeader, other: ListedHeader): boolean {
  return isSameHeader(one, other) && one.listed === other.listed;
}

function isSameTimed(one: ListedHeader, other: ListedHeader): boolean {
  return isSameListed(one, other) && one.time === other.time;
}

/** Some nodes do not know the time of a block that they have: this must not prevent agreement on the block. */
function agreedTime(shown: readonly Answer<ListedHeader>[], quorum: number): bigint | null {
  return agree(shown, quorum, (one, other) => one.time === other.time)?.answer.time ?? null;
}

async function readHeader(node: SolanaNode, slot: bigint, over: AbortSignal): Promise<ListedHeader | null> {
  const asked = { commitment: 'finalized', transactionDetails: 'signatures' } as const;
  const block = await getBlock(node, slot, asked, over);
  if (block === null) return null;
  const { blockHeight, signatures } = block;
  if (blockHeight === null)
    throw new NodeFault(node.name, `getBlock: returns block ${slot} without its height`);
  if (signatures === undefined)
    throw new NodeFault(node.name, `getBlock: returns block ${slot} without its signatures`);
  return { slot, ...headerOf({ ...block, blockHeight }), listed: listingOf(signatures) };
}

/** True for an error that means that this node does not have a block, which never means that there is none. */
export function isBlockMissing(error: unknown): boolean {
  return error instanceof RpcError && ABSENT.has(error.code);
}

function nullIfAbsent(error: unknown): null {
  if (isBlockMissing(error)) return null;
  throw error;
}
