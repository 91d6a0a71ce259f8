import { type BlockId, type BlockLink, linkedPrefix, walkBack } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import { lowest } from '../../domain/units.ts';
import type { NodePool } from '../rpc/pool.ts';
import { firstListed, type Listed, LOOKED_AHEAD } from './frontier.ts';
import { HeaderQuorum, isSameListed, type ListedHeader, type ShownHeader } from './header-quorum.ts';
import { Prefetch, type PrefetchOptions, type Sized } from './prefetch.ts';

/** A whole block from one node; `listed`: see `listingOf`. */
export interface ListedBlock extends Sized {
  readonly header: BlockHeader;
  readonly listed: string;
}

/**
 * Fetches the finalized block of a slot from any node until `over` aborts; with `header`, from a node that returns
 * exactly that block. Throws as `NodePool.read` does.
 */
export type FetchBlock<Block extends ListedBlock> = (
  slot: bigint,
  over?: AbortSignal,
  header?: BlockHeader & { readonly listed?: string },
) => Promise<Block>;

/** A block without its parent. `nodes` return `child`; `shown`: the blocks that nodes return in the parent's slot. */
export interface BrokenLink {
  readonly child: BlockHeader;
  readonly nodes: readonly string[];
  readonly shown: readonly ShownHeader[];
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
  readonly batch: number;
}

type Links =
  | Exclude<BlockLink<ListedHeader>, { kind: 'wanted' }>
  | { readonly kind: 'missing'; readonly child: ListedHeader; readonly shown: readonly ShownHeader[] };

/** Reads the finalized chain in order, block by proved block. Source: docs/decisions/0014-deposit-scan.md. */
export class ChainReader<Block extends ListedBlock> {
  readonly #pool: NodePool;
  readonly #fetch: FetchBlock<Block>;
  readonly #ahead: Prefetch<Block>;
  readonly #headers: HeaderQuorum;
  readonly #batch: number;
  readonly #end: AbortSignal | undefined;

  constructor(pool: NodePool, fetch: FetchBlock<Block>, options: ReaderOptions) {
    this.#pool = pool;
    this.#fetch = fetch;
    this.#ahead = new Prefetch(fetch, options);
    this.#headers = new HeaderQuorum(pool);
    this.#batch = options.batch;
    this.#end = options.end;
  }

  /**
   * The blocks after `cursor` up to slot `to`, which a quorum has finalized. Throws as `NodePool.read` does if nodes
   * do not answer, or contradict each other.
   */
  async after(cursor: BlockId, to: bigint): Promise<ChainReading<Block>> {
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

  async #read(cursor: BlockId, to: bigint): Promise<ChainReading<Block>> {
    this.#ahead.dropTo(cursor.slot);
    this.#headers.dropTo(cursor.slot);
    if (to <= cursor.slot) return { kind: 'idle' };
    const from = cursor.slot + 1n;
    const end = lowest([to, cursor.slot + LOOKED_AHEAD]);
    const listed = await firstListed(this.#pool, from, end, 'most');
    const batch = await this.#request(listed);
    const anchor = await this.#anchor(batch, listed, to);
    if (anchor === undefined) return { kind: 'idle' };
    const links = await this.#walk(cursor, anchor);
    if (links.kind === 'contradicted') return this.#broken('contradicted', links.child);
    if (links.kind === 'linked') await this.#headers.assertComplete(links.headers);
    const headers = links.kind === 'linked' ? links.headers : this.#below(links.child, cursor, batch);
    if (headers.length > 0) return { kind: 'linked', blocks: await this.#whole(headers) };
    return links.kind === 'linked' ? { kind: 'idle' } : this.#broken('gap', links.child, links.shown);
  }

  #broken(
    kind: 'gap' | 'contradicted',
    child: ListedHeader,
    shown: readonly ShownHeader[] = [],
  ): ChainReading<never> {
    return { kind, child, nodes: this.#headers.nodesWith(child), shown };
  }

  /**
   * Requests the headers of the next slots. Meanwhile the whole blocks that a quorum lists are fetched, without
   * waiting for them here. A block that fewer nodes list may be invented, and delivered very slowly; it is fetched
   * once a child names it.
   */
  async #request({ slots, shared }: Listed): Promise<readonly bigint[]> {
    const batch = slots.slice(0, this.#batch);
    const last = batch.at(-1);
    const near = shared.filter((slot) => last !== undefined && slot <= last);
    // Blocks after the batch would take the room of blocks that are fetched for it later.
    this.#ahead.want(near.length === batch.length ? shared : near);
    await this.#headers.requestListed(batch);
    for (const slot of batch) if (this.#headers.agreed(slot) === undefined) this.#ahead.drop(slot);
    return batch;
  }

  /** The highest block of the batch by a quorum. If one of two nodes has a hole, only a block above it qualifies. */
  async #anchor(
    batch: readonly bigint[],
    { slots, shared }: Listed,
    to: bigint,
  ): Promise<ListedHeader | undefined> {
    const near = batch.findLast((slot) => this.#headers.agreed(slot) !== undefined);
    if (near !== undefined) return this.#headers.agreed(near);
    for (const far of new Set([shared.at(-1) ?? to, slots.at(-1) ?? to, to])) {
      await this.#headers.requestListed([far]);
      const agreed = this.#headers.agreed(far);
      if (agreed === undefined) continue;
      await this.#headers.requestListed(slots.filter((slot) => slot < far));
      return agreed;
    }
    return undefined;
  }

  async #walk(cursor: BlockId, anchor: ListedHeader): Promise<Links> {
    const asked = new Set<bigint>();
    for (;;) {
      const walk = walkBack(cursor, anchor, (name) => this.#headers.named(name));
      if (walk.kind !== 'wanted') return walk;
      const { name, child } = walk;
      if (asked.has(name.slot))
        return { kind: 'missing', child, shown: await this.#headers.othersInSlot(name) };
      asked.add(name.slot);
      await this.#headers.requestParent(name);
    }
  }

  /** The agreed blocks between the cursor and a missing one: the cursor moves as close to a gap as nodes allow. */
  #below(child: ListedHeader, cursor: BlockId, batch: readonly bigint[]): readonly ListedHeader[] {
    const below = batch.filter((slot) => slot < child.parentSlot);
    return linkedPrefix(
      cursor,
      below.flatMap((slot) => this.#headers.agreed(slot) ?? []),
    );
  }

  /** The whole blocks of the lowest headers, at most one reading; throws if the first is not available. */
  async #whole(headers: readonly ListedHeader[]): Promise<readonly Block[]> {
    const blocks: Block[] = [];
    const next = headers.slice(0, this.#batch);
    this.#ahead.want(next.map(({ slot }) => slot));
    for (const header of next) {
      const ahead = await this.#ahead.take(header.slot);
      if (ahead !== null && isShown(ahead, header)) {
        blocks.push(timed(ahead, header));
        continue;
      }
      this.#ahead.drop(header.slot);
      if (blocks.length > 0) break;
      blocks.push(await this.#named(header));
    }
    return blocks;
  }

  async #named(header: ListedHeader): Promise<Block> {
    const block = await this.#fetch(header.slot, this.#end, header);
    if (isShown(block, header)) return timed(block, header);
    throw new DomainError(
      'NodeFault',
      `a node returned another block than ${header.blockhash} for slot ${header.slot}`,
    );
  }
}

function isShown({ header, listed }: ListedBlock, expected: ListedHeader): boolean {
  return isSameListed({ ...header, listed }, expected);
}

/** The time of a block comes from a quorum, as the rest of its header does. */
function timed<Block extends ListedBlock>(block: Block, { time }: ListedHeader): Block {
  return { ...block, header: { ...block.header, time } };
}
