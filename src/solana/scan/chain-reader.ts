import { type BlockLink, type BlockName, linkedPrefix, walkBack } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { lowest } from '../../domain/units.ts';
import type { NodePool } from '../rpc/pool.ts';
import { firstListedSlots, MAX_LOOKAHEAD_SLOTS, type SlotList } from './frontier.ts';
import { HeaderQuorum, type HeaderVersion, isSameListedHeader, type ListedHeader } from './header-quorum.ts';
import { Prefetch, type PrefetchOptions, type SizedBlock } from './prefetch.ts';

/** A whole block from one node; `listed`: see `listingOf`. */
export interface ListedBlock extends SizedBlock {
  readonly header: BlockHeader;
  readonly signaturesHash: string;
}

/**
 * Fetches the finalized block of a slot from any node until `over` aborts; with `header`, from a node that returns
 * exactly that block. Throws as `NodePool.read` does.
 */
export type FetchBlock<Block extends ListedBlock> = (
  slot: bigint,
  signal?: AbortSignal,
  header?: BlockHeader & { readonly listed?: string },
) => Promise<Block>;

/** A block without its parent. `nodes` return `child`; `shown`: the blocks that nodes return in the parent's slot. */
export interface BrokenLink {
  readonly child: BlockHeader;
  readonly nodes: readonly string[];
  readonly versions: readonly HeaderVersion[];
}

/**
 * The blocks after the cursor. `linked`: whole blocks, each proved to be the parent of the next, up to a block that a
 * quorum agrees on. `idle`: no new block is agreed on. `gap`: no node has the parent of `child`, nor any block
 * between it and the cursor. `contradicted`: the quorum's chain does not contain the cursor.
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

/** Reads the finalized chain in order, block by proved block. Source: docs/decisions/0014-deposit-scan.md. */
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
   * The blocks after `cursor` up to slot `to`, which a quorum has finalized. Throws as `NodePool.read` does if nodes
   * do not answer, or contradict each other.
   */
  async readAfter(cursor: BlockName, to: bigint): Promise<ChainReading<Block>> {
    let linked = false;
    try {
      const reading = await this.#read(cursor, to);
      linked = reading.kind === 'linked';
      return reading;
    } finally {
      // Answers that did not link may have been wrong: they are requested again.
      if (!linked) this.#headers.clear();
    }
  }

  async #read(cursor: BlockName, to: bigint): Promise<ChainReading<Block>> {
    this.#prefetch.dropUpTo(cursor.slot);
    this.#headers.dropUpTo(cursor.slot);
    if (to <= cursor.slot) return { kind: 'idle' };
    const from = cursor.slot + 1n;
    const end = lowest([to, cursor.slot + MAX_LOOKAHEAD_SLOTS]);
    const listed = await firstListedSlots(this.#pool, from, end, 'most');
    const batch = await this.#requestBatch(listed);
    const anchor = await this.#anchor(batch, listed, to);
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
    shown: readonly HeaderVersion[] = [],
  ): ChainReading<never> {
    return { kind, child, nodes: this.#headers.nodesWith(child), versions: shown };
  }

  /**
   * Requests the headers of the next slots. Meanwhile the whole blocks that a quorum lists are fetched, without
   * waiting for them here. A block that fewer nodes list may be invented, and delivered very slowly; it is fetched
   * once a child names it.
   */
  async #requestBatch({ slots, agreedSlots: shared }: SlotList): Promise<readonly bigint[]> {
    const batch = slots.slice(0, this.#batchSize);
    const last = batch.at(-1);
    const agreedInBatch = shared.filter((slot) => last !== undefined && slot <= last);
    // Blocks after the batch would take the room of blocks that are fetched for it later.
    this.#prefetch.request(agreedInBatch.length === batch.length ? shared : agreedInBatch);
    await this.#headers.requestListed(batch);
    for (const slot of batch) if (this.#headers.agreedHeader(slot) === undefined) this.#prefetch.drop(slot);
    return batch;
  }

  /** The highest block of the batch by a quorum. If one of two nodes has a hole, only a block above it qualifies. */
  async #anchor(
    batch: readonly bigint[],
    { slots, agreedSlots: shared }: SlotList,
    to: bigint,
  ): Promise<ListedHeader | undefined> {
    const agreedSlot = batch.findLast((slot) => this.#headers.agreedHeader(slot) !== undefined);
    if (agreedSlot !== undefined) return this.#headers.agreedHeader(agreedSlot);
    for (const slotAbove of new Set([shared.at(-1) ?? to, slots.at(-1) ?? to, to])) {
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

  /** The agreed blocks between the cursor and a missing one: the cursor moves as close to a gap as nodes allow. */
  #agreedBelow(child: ListedHeader, cursor: BlockName, batch: readonly bigint[]): readonly ListedHeader[] {
    const below = batch.filter((slot) => slot < child.parentSlot);
    return linkedPrefix(
      cursor,
      below.flatMap((slot) => this.#headers.agreedHeader(slot) ?? []),
    );
  }

  /** The whole blocks of the lowest headers, at most one reading; throws if the first is not available. */
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
      `a node returned another block than ${header.blockhash} for slot ${header.slot}`,
    );
  }
}

function isBlockOf({ header, signaturesHash: listed }: ListedBlock, expected: ListedHeader): boolean {
  return isSameListedHeader({ ...header, signaturesHash: listed }, expected);
}

/** The time of a block comes from a quorum, as the rest of its header does. */
function withAgreedTime<Block extends ListedBlock>(block: Block, { time }: ListedHeader): Block {
  return { ...block, header: { ...block.header, time } };
}
