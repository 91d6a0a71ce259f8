import { type BlockLink, type BlockName, linkedPrefix, walkBack } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { lowest } from '../../domain/units.ts';
import type { NodePool } from '../rpc/pool.ts';
import { firstListedSlots, MAX_LOOKAHEAD_SLOTS, type SlotList } from './frontier.ts';
import { HeaderQuorum, type HeaderVersion, isSameListedHeader, type ListedHeader } from './header-quorum.ts';
import { Prefetch, type PrefetchOptions, type SizedBlock } from './prefetch.ts';

/** A whole block from one node. `signaturesHash`: see `signaturesHashOf`. */
export interface ListedBlock extends SizedBlock {
  readonly header: BlockHeader;
  readonly signaturesHash: string;
}

/**
 * Fetches the finalized block of a slot from any node. With `header`, the block of a node is refused unless it has that
 * header. Throws as `NodePool.read` does.
 */
export type FetchBlock<Block extends ListedBlock> = (
  slot: bigint,
  signal?: AbortSignal,
  header?: BlockHeader & { readonly signaturesHash?: string },
) => Promise<Block>;

/**
 * A block whose parent is not available. `nodes`: the nodes that return `child`. `versions`: the blocks that nodes
 * return in the parent's slot instead.
 */
export interface BrokenLink {
  readonly child: BlockHeader;
  readonly nodes: readonly string[];
  readonly versions: readonly HeaderVersion[];
}

/**
 * The blocks after the cursor. `linked`: whole blocks, each proved to be the parent of the next; a quorum agrees on the
 * chain that they belong to. `idle`: a quorum agrees on no new block. `gap`: no node returns the parent of `child`, and
 * no block is linked to the cursor. `contradicted`: the quorum's chain does not contain the cursor.
 */
export type ChainReading<Block> =
  | { readonly kind: 'linked'; readonly blocks: readonly Block[] }
  | { readonly kind: 'idle' }
  | ({ readonly kind: 'gap' | 'contradicted' } & BrokenLink);

export interface ReaderOptions extends PrefetchOptions {
  readonly batchSize: number;
}

type Links =
  | Exclude<BlockLink<ListedHeader>, { kind: 'wanted' }>
  | { readonly kind: 'missing'; readonly child: ListedHeader; readonly versions: readonly HeaderVersion[] };

/** Reads finalized blocks in order and proves their parent links. Source: docs/decisions/0014-deposit-scan.md. */
export class ChainReader<Block extends ListedBlock> {
  readonly #pool: NodePool;
  readonly #fetch: FetchBlock<Block>;
  readonly #prefetch: Prefetch<Block>;
  readonly #headers: HeaderQuorum;
  readonly #batchSize: number;
  readonly #signal: AbortSignal | undefined;

  constructor(pool: NodePool, fetch: FetchBlock<Block>, options: ReaderOptions) {
    this.#pool = pool;
    this.#fetch = fetch;
    this.#prefetch = new Prefetch(fetch, options);
    this.#headers = new HeaderQuorum(pool);
    this.#batchSize = options.batchSize;
    this.#signal = options.signal;
  }

  /**
   * The blocks after `cursor` up to slot `to`; a quorum must have finalized `to`. Throws NoHealthyNode if too few nodes
   * answer, NodeFault if nodes contradict each other, and otherwise as `NodePool.read` does.
   */
  async readAfter(cursor: BlockName, to: bigint): Promise<ChainReading<Block>> {
    let linked = false;
    try {
      const reading = await this.#read(cursor, to);
      linked = reading.kind === 'linked';
      return reading;
    } finally {
      // Headers that are not linked can be false, so that the next call must request them again.
      if (!linked) this.#headers.clear();
    }
  }

  async #read(cursor: BlockName, to: bigint): Promise<ChainReading<Block>> {
    this.#prefetch.dropUpTo(cursor.slot);
    this.#headers.dropUpTo(cursor.slot);
    if (to <= cursor.slot) return { kind: 'idle' };
    const from = cursor.slot + 1n;
    const end = lowest([to, cursor.slot + MAX_LOOKAHEAD_SLOTS]);
    const slotList = await firstListedSlots(this.#pool, from, end, 'most');
    const batch = await this.#requestBatch(slotList);
    const anchor = await this.#anchor(batch, slotList, to);
    if (anchor === undefined) return { kind: 'idle' };
    const links = await this.#walk(cursor, anchor);
    if (links.kind === 'contradicted') return this.#brokenLink('contradicted', links.child);
    if (links.kind === 'linked') await this.#headers.assertComplete(links.headers);
    const headers = links.kind === 'linked' ? links.headers : this.#agreedBelow(links.child, cursor, batch);
    if (headers.length > 0) return { kind: 'linked', blocks: await this.#wholeBlocks(headers) };
    return links.kind === 'linked' ? { kind: 'idle' } : this.#brokenLink('gap', links.child, links.versions);
  }

  #brokenLink(
    kind: 'gap' | 'contradicted',
    child: ListedHeader,
    versions: readonly HeaderVersion[] = [],
  ): ChainReading<never> {
    return { kind, child, nodes: this.#headers.nodesWith(child), versions };
  }

  /**
   * Requests the headers of the next slots, and starts to prefetch the whole blocks that a quorum lists. A block that
   * fewer nodes list might not exist, and its node may answer very slowly. Such a block is fetched only after an agreed
   * block names it as its parent.
   */
  async #requestBatch({ slots, agreedSlots }: SlotList): Promise<readonly bigint[]> {
    const batch = slots.slice(0, this.#batchSize);
    const last = batch.at(-1);
    const agreedInBatch = agreedSlots.filter((slot) => last !== undefined && slot <= last);
    // If some blocks of the batch are fetched later, blocks after the batch must not use up the memory for them.
    this.#prefetch.request(agreedInBatch.length === batch.length ? agreedSlots : agreedInBatch);
    await this.#headers.requestListed(batch);
    for (const slot of batch) if (this.#headers.agreedHeader(slot) === undefined) this.#prefetch.drop(slot);
    return batch;
  }

  /**
   * The highest block of the batch on which a quorum agrees. Without one, the search continues above the batch: if one
   * of two nodes lacks a range of blocks, they agree only on a block above that range.
   */
  async #anchor(
    batch: readonly bigint[],
    { slots, agreedSlots }: SlotList,
    to: bigint,
  ): Promise<ListedHeader | undefined> {
    const agreedSlot = batch.findLast((slot) => this.#headers.agreedHeader(slot) !== undefined);
    if (agreedSlot !== undefined) return this.#headers.agreedHeader(agreedSlot);
    for (const slotAbove of new Set([agreedSlots.at(-1) ?? to, slots.at(-1) ?? to, to])) {
      await this.#headers.requestListed([slotAbove]);
      const agreed = this.#headers.agreedHeader(slotAbove);
      if (agreed === undefined) continue;
      await this.#headers.requestListed(slots.filter((slot) => slot < slotAbove));
      return agreed;
    }
    return undefined;
  }

  async #walk(cursor: BlockName, anchor: ListedHeader): Promise<Links> {
    const requestedSlots = new Set<bigint>();
    for (;;) {
      const walk = walkBack(cursor, anchor, (name) => this.#headers.findHeader(name));
      if (walk.kind !== 'wanted') return walk;
      const { name, child } = walk;
      if (requestedSlots.has(name.slot))
        return { kind: 'missing', child, versions: await this.#headers.otherVersionsInSlot(name) };
      requestedSlots.add(name.slot);
      await this.#headers.requestParent(name);
    }
  }

  /** The agreed blocks between the cursor and a missing block, so that a gap begins at the first missing block. */
  #agreedBelow(child: ListedHeader, cursor: BlockName, batch: readonly bigint[]): readonly ListedHeader[] {
    const below = batch.filter((slot) => slot < child.parentSlot);
    return linkedPrefix(
      cursor,
      below.flatMap((slot) => this.#headers.agreedHeader(slot) ?? []),
    );
  }

  /**
   * The whole blocks of the lowest headers, at least one and at most `batchSize`. Throws if the first cannot be
   * fetched.
   */
  async #wholeBlocks(headers: readonly ListedHeader[]): Promise<readonly Block[]> {
    const blocks: Block[] = [];
    const next = headers.slice(0, this.#batchSize);
    this.#prefetch.request(next.map(({ slot }) => slot));
    for (const header of next) {
      const prefetched = await this.#prefetch.take(header.slot);
      if (prefetched !== null && isBlockOf(prefetched, header)) {
        blocks.push(withAgreedTime(prefetched, header));
        continue;
      }
      this.#prefetch.drop(header.slot);
      if (blocks.length > 0) break;
      blocks.push(await this.#fetchExact(header));
    }
    return blocks;
  }

  async #fetchExact(header: ListedHeader): Promise<Block> {
    const block = await this.#fetch(header.slot, this.#signal, header);
    if (isBlockOf(block, header)) return withAgreedTime(block, header);
    throw new DomainError(
      'NodeFault',
      `a node returned block ${block.header.blockhash} for slot ${header.slot}; its header or its signatures differ from those of the agreed block ${header.blockhash}`,
    );
  }
}

function isBlockOf({ header, signaturesHash }: ListedBlock, expected: ListedHeader): boolean {
  return isSameListedHeader({ ...header, signaturesHash }, expected);
}

/** A quorum must agree on the time of a block too, so that the time of the fetched block is replaced. */
function withAgreedTime<Block extends ListedBlock>(block: Block, { time }: ListedHeader): Block {
  return { ...block, header: { ...block.header, time } };
}
