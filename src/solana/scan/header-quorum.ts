import pLimit from 'p-limit';
import { type BlockName, isSameBlock } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { NodeFault, RpcError } from '../rpc/errors.ts';
import { getBlock } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import { listingOf } from './listing.ts';

/** A block and its transactions, by their names alone; `listed`: see {@link listingOf}. */
export interface ListedHeader extends BlockHeader {
  readonly listed: string;
}

/** A block as these nodes show it alike, but for its time: that is what a quorum of them tells, else null. */
export interface ShownHeader {
  readonly header: ListedHeader;
  readonly nodes: readonly string[];
}

interface Shown {
  readonly node: string;
  readonly header: ListedHeader;
}

/** What nodes say of one slot. */
interface Testimony {
  readonly versions: readonly ShownHeader[];
  /** Why nodes said nothing. */
  readonly silent: readonly unknown[];
}

const AT_ONCE = 8;
/** Answers by which one node says that it does not have a block: it was cleaned up, or skipped, or lost. */
const ABSENT: ReadonlySet<number> = new Set([-32001, -32007, -32009]);

/**
 * Headers of finalized blocks as a quorum shows them, parents and names of transactions included: one node can neither put a block
 * of its own between two that others show, nor leave a transaction out. Each costs as many nodes as it takes one small call
 * (`transactionDetails: signatures`), and all where those do not agree.
 */
export class HeaderBook {
  readonly #pool: NodePool;
  readonly #pages = new Map<bigint, Testimony>();
  /** Slots in which a quorum has no block; what the others have was not waited for. */
  readonly #absent = new Set<bigint>();

  constructor(pool: NodePool) {
    this.#pool = pool;
  }

  /** Asks for the blocks of these slots, but for those that a quorum has shown already. Never throws. */
  async learn(slots: readonly bigint[]): Promise<void> {
    await pLimit(AT_ONCE).map(this.#open(slots), async (slot) => this.#note(slot, await this.#ask(slot)));
  }

  /**
   * As {@link learn}, for slots that somebody lists: where a quorum answers that it has no block, nobody waits for what another node says
   * of it, and that counts as nothing. Never throws.
   */
  async lookFor(slots: readonly bigint[]): Promise<void> {
    await pLimit(AT_ONCE).map(this.#open(slots), async (slot) => this.#note(slot, await this.#lookAt(slot)));
  }

  /**
   * Asks for a block that its child names. Where a quorum has lost it, others may have: all nodes are heard about it, and at once about
   * the slots before it in which a quorum has none either. Never throws.
   */
  async learnParent({ slot }: BlockName): Promise<void> {
    await this.learn(this.#absent.has(slot) ? [...this.#absent].filter((other) => other <= slot) : [slot]);
  }

  /** The block of a slot as a quorum shows it. */
  agreed(slot: bigint): ListedHeader | undefined {
    const { versions = [] } = this.#pages.get(slot) ?? {};
    return versions.find(({ nodes }) => nodes.length >= this.#pool.quorum)?.header;
  }

  /**
   * The block of that name as a quorum shows it; or fewer nodes, but more than show anything else in its slot, where each of the others
   * has answered that it does not have it: one that says nothing now may know better which transactions it had.
   */
  named(name: BlockName): ListedHeader | undefined {
    const { versions = [], silent = [] } = this.#pages.get(name.slot) ?? {};
    const [first, second] = versions;
    if (first === undefined || (second !== undefined && second.nodes.length >= first.nodes.length))
      return undefined;
    if (first.nodes.length < this.#pool.quorum && silent.length > 0) return undefined;
    return isSameBlock(first.header, name) ? first.header : undefined;
  }

  /**
   * Throws NodeFault where a chain, ascending from the cursor, holds blocks by the word of fewer nodes than a quorum, and as many show
   * one that it leaves out: of such a chain, every node is heard about each slot that was looked for.
   */
  async assertWhole(chain: readonly ListedHeader[]): Promise<void> {
    const fewest = Math.min(...chain.map((header) => this.nodesWith(header).length));
    const last = chain.at(-1);
    if (last === undefined || fewest >= this.#pool.quorum) return;
    const slots = new Set(chain.map(({ slot }) => slot));
    await this.learn([...this.#absent].filter((slot) => slot < last.slot));
    for (const [slot, { versions }] of this.#pages) {
      const other = versions.find(({ nodes }) => nodes.length >= fewest);
      if (other === undefined || slots.has(slot) || slot > last.slot) continue;
      const { blockhash } = other.header;
      const message = `nodes contradict each other: one shows block ${blockhash} in slot ${slot}, another one a chain without it`;
      throw new DomainError('NodeFault', message);
    }
  }

  /**
   * The other blocks that nodes show in the slot of a block that no node has: every node has answered. That is a gap, and never a skipped
   * slot. Throws NoHealthyNode where a node that does not answer now may have the block, NodeFault where some nodes have it.
   */
  async insteadOf(name: BlockName): Promise<readonly ShownHeader[]> {
    const { versions, silent } = await this.#askAll(name.slot);
    const what = `block ${name.blockhash} of slot ${name.slot}`;
    const isWithSome = versions.some(({ header }) => isSameBlock(header, name));
    if (silent.length > 0) {
      const supporters = isWithSome ? 'too few nodes while others do not answer' : 'no node that answers now';
      throw new DomainError('NoHealthyNode', `${what} is with ${supporters}`, {}, silent[0]);
    }
    if (isWithSome)
      throw new DomainError('NodeFault', `nodes contradict each other about ${what}: ${showings(versions)}`);
    return versions;
  }

  /** The nodes that have shown this block with this parent and these transactions. */
  nodesWith(header: ListedHeader): readonly string[] {
    const { versions = [] } = this.#pages.get(header.slot) ?? {};
    return versions.find((version) => isSameListed(version.header, header))?.nodes ?? [];
  }

  dropTo(slot: bigint): void {
    for (const known of this.#pages.keys()) if (known <= slot) this.#pages.delete(known);
    for (const known of this.#absent) if (known <= slot) this.#absent.delete(known);
  }

  clear(): void {
    this.#pages.clear();
    this.#absent.clear();
  }

  #open(slots: readonly bigint[]): readonly bigint[] {
    return slots.filter((slot) => this.agreed(slot) === undefined);
  }

  #note(slot: bigint, told: Testimony | 'absent'): void {
    if (told !== 'absent') {
      this.#pages.set(slot, told);
      this.#absent.delete(slot);
    } else if (!this.#pages.has(slot)) this.#absent.add(slot);
  }

  async #ask(slot: bigint): Promise<Testimony> {
    const agreed = await this.#pool.agreed(
      (node, over) => readHeader(node, slot, over),
      (one, other) => one !== null && other !== null && isSameTimed(one, other),
    );
    const { answer: header = null, nodes = [] } = agreed ?? {};
    return header === null ? this.#askAll(slot) : { versions: [{ header, nodes }], silent: [] };
  }

  async #lookAt(slot: bigint): Promise<Testimony | 'absent'> {
    const agreed = await this.#pool.agreed(
      (node, over) => readHeader(node, slot, over).catch(nullIfAbsent),
      (one, other) => (one === null || other === null ? one === other : isSameTimed(one, other)),
    );
    if (agreed === null) return this.#askAll(slot);
    const { answer: header, nodes } = agreed;
    return header === null ? 'absent' : { versions: [{ header, nodes }], silent: [] };
  }

  async #askAll(slot: bigint): Promise<Testimony> {
    const versions: Shown[][] = [];
    const silent: unknown[] = [];
    for (const { node, result } of await this.#pool.all((node, over) => readHeader(node, slot, over))) {
      if (result.status === 'rejected') {
        if (!tellsOfAbsence(result.reason)) silent.push(result.reason);
        continue;
      }
      const header = result.value;
      if (header === null) continue;
      const same = versions.find(([first]) => first !== undefined && isSameListed(first.header, header));
      if (same === undefined) versions.push([{ node, header }]);
      else same.push({ node, header });
    }
    const heard = versions.flatMap((shown) => versionOf(shown, this.#pool.quorum));
    return { versions: heard.toSorted((a, b) => b.nodes.length - a.nodes.length), silent };
  }
}

/** The blocks of one slot by node, for messages. */
export function showings(versions: readonly ShownHeader[]): string {
  return versions
    .map(({ header, nodes }) => `${nodes.join(', ')}: block ${header.blockhash} (height ${header.height})`)
    .join('; ');
}

/** True for one block with one parent. */
export function isSameHeader(one: BlockHeader, other: BlockHeader): boolean {
  const sameParent = one.parentSlot === other.parentSlot && one.previousBlockhash === other.previousBlockhash;
  return sameParent && isSameBlock(one, other);
}

/** {@link isSameHeader}, with the same transactions. */
export function isSameListed(one: ListedHeader, other: ListedHeader): boolean {
  return isSameHeader(one, other) && one.listed === other.listed;
}

function isSameTimed(one: ListedHeader, other: ListedHeader): boolean {
  return isSameListed(one, other) && one.time === other.time;
}

/** Some nodes do not know the time of a block that they have: that keeps no block from being agreed on. */
function versionOf(shown: readonly Shown[], quorum: number): readonly ShownHeader[] {
  const [first] = shown;
  if (first === undefined) return [];
  const times = shown.map(({ header }) => header.time);
  const time = times.find((one) => times.filter((other) => other === one).length >= quorum);
  return [{ header: { ...first.header, time: time ?? null }, nodes: shown.map(({ node }) => node) }];
}

/** A finalized block; null where the node answers that it has none. */
async function readHeader(node: SolanaNode, slot: bigint, over: AbortSignal): Promise<ListedHeader | null> {
  const asked = { commitment: 'finalized', transactionDetails: 'signatures' } as const;
  const block = await getBlock(node, slot, asked, over);
  if (block === null) return null;
  const {
    blockhash,
    previousBlockhash,
    parentSlot,
    blockHeight: height,
    blockTime: time,
    signatures,
  } = block;
  if (height === null) throw new NodeFault(node.name, `getBlock: shows block ${slot} without its height`);
  if (signatures === undefined)
    throw new NodeFault(node.name, `getBlock: shows block ${slot} without its signatures`);
  return {
    slot,
    blockhash,
    previousBlockhash,
    parentSlot,
    height,
    time,
    listed: listingOf(signatures),
  };
}

/** True for the answer by which one node says that it does not have a block, which never means that there is none. */
export function tellsOfAbsence(error: unknown): boolean {
  return error instanceof RpcError && ABSENT.has(error.code);
}

function nullIfAbsent(error: unknown): null {
  if (tellsOfAbsence(error)) return null;
  throw error;
}
