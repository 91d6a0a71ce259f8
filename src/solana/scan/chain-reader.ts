import { lowest } from '../../domain/bigint.ts';
import { type BlockName, linkedPrefix, type Walk, walkBack } from '../../domain/block-link.ts';
import type { BlockHeader } from '../../domain/deposit.ts';
import { DomainError } from '../../domain/errors.ts';
import type { NodePool } from '../rpc/pool.ts';
import { firstListed, type Listed, LOOKED_AHEAD } from './frontier.ts';
import { HeaderBook, isSameListed, type ListedHeader, type ShownHeader } from './header-quorum.ts';
import { Prefetch, type PrefetchOptions, type Sized } from './prefetch.ts';

/** A whole block as one node shows it; `listed`: see `listingOf`. */
export interface ShownBlock extends Sized {
  readonly header: BlockHeader;
  readonly listed: string;
}

/**
 * Fetches the finalized block of a slot from any node, until `over` is aborted; with `header`, from one that shows that very block.
 * Throws as `NodePool.read` does.
 */
export type ShowBlock<Block extends ShownBlock> = (
  slot: bigint,
  over?: AbortSignal,
  header?: BlockHeader & { readonly listed?: string },
) => Promise<Block>;

/** A block whose parent does not fit: `nodes` show `child`, and `shown` are the blocks that nodes show in the slot of its parent. */
export interface BrokenLink {
  readonly child: BlockHeader;
  readonly nodes: readonly string[];
  readonly shown: readonly ShownHeader[];
}

/**
 * What comes after the cursor. `linked`: whole blocks, each proved to be the parent of the next up to one that a quorum agrees on.
 * `idle`: nothing new is agreed on. `gap`: the parent of `child` is with no node, nor is anything between it and the cursor.
 * `contradicted`: the chain of the quorum does not hold the cursor.
 */
export type Reading<Block> =
  | { readonly kind: 'linked'; readonly blocks: readonly Block[] }
  | { readonly kind: 'idle' }
  | ({ readonly kind: 'gap' | 'contradicted' } & BrokenLink);

export interface ReaderOptions extends PrefetchOptions {
  /** Blocks of one reading, at most. */
  readonly batch: number;
}

type Links =
  | Exclude<Walk<ListedHeader>, { kind: 'wanted' }>
  | { readonly kind: 'missing'; readonly child: ListedHeader; readonly shown: readonly ShownHeader[] };

/** Reads the finalized chain in order, block by proved block, from any nodes. Source: docs/decisions/0014-deposit-scan.md. */
export class ChainReader<Block extends ShownBlock> {
  readonly #pool: NodePool;
  readonly #show: ShowBlock<Block>;
  readonly #ahead: Prefetch<Block>;
  readonly #headers: HeaderBook;
  readonly #batch: number;
  readonly #end: AbortSignal | undefined;

  constructor(pool: NodePool, show: ShowBlock<Block>, options: ReaderOptions) {
    this.#pool = pool;
    this.#show = show;
    this.#ahead = new Prefetch(show, options);
    this.#headers = new HeaderBook(pool);
    this.#batch = options.batch;
    this.#end = options.end;
  }

  /**
   * What follows `cursor` up to slot `to`, which a quorum has finalized. Throws as `NodePool.read` does where nodes are away, or
   * contradict each other.
   */
  async after(cursor: BlockName, to: bigint): Promise<Reading<Block>> {
    let linked = false;
    try {
      const reading = await this.#read(cursor, to);
      linked = reading.kind === 'linked';
      return reading;
    } finally {
      // What was told when it did not link is asked for again: nodes may have been wrong then.
      if (!linked) this.#headers.clear();
    }
  }

  async #read(cursor: BlockName, to: bigint): Promise<Reading<Block>> {
    this.#ahead.dropTo(cursor.slot);
    this.#headers.dropTo(cursor.slot);
    if (to <= cursor.slot) return { kind: 'idle' };
    const from = cursor.slot + 1n;
    const end = lowest([to, cursor.slot + LOOKED_AHEAD]);
    const listed = await firstListed(this.#pool, from, end, 'most');
    const batch = await this.#look(listed);
    const anchor = await this.#anchor(batch, listed, to);
    if (anchor === undefined) return { kind: 'idle' };
    const links = await this.#walk(cursor, anchor);
    if (links.kind === 'contradicted') return this.#broken('contradicted', links.child);
    if (links.kind === 'linked') await this.#headers.assertWhole(links.headers);
    const headers = links.kind === 'linked' ? links.headers : this.#below(links.child, cursor, batch);
    if (headers.length > 0) return { kind: 'linked', blocks: await this.#whole(headers) };
    return links.kind === 'linked' ? { kind: 'idle' } : this.#broken('gap', links.child, links.shown);
  }

  #broken(
    kind: 'gap' | 'contradicted',
    child: ListedHeader,
    shown: readonly ShownHeader[] = [],
  ): Reading<never> {
    return { kind, child, nodes: this.#headers.nodesWith(child), shown };
  }

  /**
   * Asks for the headers of the next slots. Whole blocks are on their way meanwhile, and nobody waits for them here: those that a quorum
   * lists. What fewer list may be made up, and dripped for an hour; where a chain names it, it is fetched then.
   */
  async #look({ slots, shared }: Listed): Promise<readonly bigint[]> {
    const batch = slots.slice(0, this.#batch);
    const last = batch.at(-1);
    const near = shared.filter((slot) => last !== undefined && slot <= last);
    // What lies behind the batch would take the room of what is fetched for it later.
    this.#ahead.want(near.length === batch.length ? shared : near);
    await this.#headers.lookFor(batch);
    for (const slot of batch) if (this.#headers.agreed(slot) === undefined) this.#ahead.drop(slot);
    return batch;
  }

  /** The highest block of the batch that a quorum agrees on. Where one of two nodes has a hole, that is only one above the hole. */
  async #anchor(
    batch: readonly bigint[],
    { slots, shared }: Listed,
    to: bigint,
  ): Promise<ListedHeader | undefined> {
    const near = batch.findLast((slot) => this.#headers.agreed(slot) !== undefined);
    if (near !== undefined) return this.#headers.agreed(near);
    for (const far of new Set([shared.at(-1) ?? to, slots.at(-1) ?? to, to])) {
      await this.#headers.lookFor([far]);
      const agreed = this.#headers.agreed(far);
      if (agreed === undefined) continue;
      await this.#headers.lookFor(slots.filter((slot) => slot < far));
      return agreed;
    }
    return undefined;
  }

  async #walk(cursor: BlockName, anchor: ListedHeader): Promise<Links> {
    const asked = new Set<bigint>();
    for (;;) {
      const walk = walkBack(cursor, anchor, (name) => this.#headers.named(name));
      if (walk.kind !== 'wanted') return walk;
      const { name, child } = walk;
      if (asked.has(name.slot)) return { kind: 'missing', child, shown: await this.#headers.insteadOf(name) };
      asked.add(name.slot);
      await this.#headers.learnParent(name);
    }
  }

  /** The agreed blocks between the cursor and one that is missing: the cursor comes as close to a gap as nodes show. */
  #below(child: ListedHeader, cursor: BlockName, batch: readonly bigint[]): readonly ListedHeader[] {
    const below = batch.filter((slot) => slot < child.parentSlot);
    return linkedPrefix(
      cursor,
      below.flatMap((slot) => this.#headers.agreed(slot) ?? []),
    );
  }

  /** The whole blocks of the lowest of these headers, as many as one reading gives; the first must be had. */
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
    const block = await this.#show(header.slot, this.#end, header);
    if (isShown(block, header)) return timed(block, header);
    throw new DomainError('NodeFault', `another block than ${header.blockhash} was shown for ${header.slot}`);
  }
}

function isShown({ header, listed }: ShownBlock, expected: ListedHeader): boolean {
  return isSameListed({ ...header, listed }, expected);
}

/** The time of a block is what a quorum tells, as all else of its header. */
function timed<Block extends ShownBlock>(block: Block, { time }: ListedHeader): Block {
  return { ...block, header: { ...block.header, time } };
}
