import type { BlockHeader } from './deposit.ts';

/** Enough of a block to tell it from every other one. */
export type BlockName = Pick<BlockHeader, 'slot' | 'blockhash' | 'height'>;

/** What a block says of itself and of its parent. */
export type Link = Pick<BlockHeader, 'slot' | 'height' | 'parentSlot' | 'previousBlockhash'>;

/**
 * What walking from a block that nodes agree on back to the cursor came to. `linked`: the blocks after the cursor, the oldest first,
 * each the parent of the next. `wanted`: the next block to know, by the name that its child gives it. `contradicted`: the chain that
 * nodes agree on does not hold the cursor; `child` is its block nearest to the cursor.
 */
export type Walk<Header extends BlockHeader = BlockHeader> =
  | { readonly kind: 'linked'; readonly headers: readonly Header[] }
  | { readonly kind: 'wanted'; readonly name: BlockName; readonly child: Header }
  | { readonly kind: 'contradicted'; readonly child: Header };

/** The name that a block gives to its parent: header data that a node without the parent cannot make up. */
export function parentOf({ parentSlot, previousBlockhash, height }: Omit<Link, 'slot'>): BlockName {
  return { slot: parentSlot, blockhash: previousBlockhash, height: height - 1n };
}

export function isSameBlock(one: BlockName, other: BlockName): boolean {
  return one.slot === other.slot && one.blockhash === other.blockhash && one.height === other.height;
}

/**
 * True where `child` names `parent` as the block before it, by slot, hash and height, whatever slots lie between: this and nothing
 * else proves that no block is missing. A node that lacks blocks can fail to show such a link, and cannot make one up.
 * Source: docs/decisions/0014-deposit-scan.md.
 */
export function isParent(parent: BlockName, child: Link): boolean {
  return child.slot > parent.slot && isSameBlock(parentOf(child), parent);
}

/**
 * Walks from `anchor`, which nodes agree on, to `cursor`. `known` gives the block of a name where nodes show it; one of another name is
 * not followed. As heights go down by one, no block is left out. Source: docs/decisions/0014-deposit-scan.md.
 */
export function walkBack<Header extends BlockHeader>(
  cursor: BlockName,
  anchor: Header,
  known: (name: BlockName) => Header | undefined,
): Walk<Header> {
  const downwards: Header[] = [];
  for (let child = anchor; ; ) {
    const name = parentOf(child);
    if (child.slot <= cursor.slot || name.slot >= child.slot || name.height < cursor.height)
      return { kind: 'contradicted', child };
    downwards.push(child);
    if (isSameBlock(name, cursor)) return { kind: 'linked', headers: downwards.toReversed() };
    if (name.slot <= cursor.slot) return { kind: 'contradicted', child };
    const block = known(name);
    if (block === undefined || !isSameBlock(block, name)) return { kind: 'wanted', name, child };
    child = block;
  }
}

/**
 * The blocks of an ascending list that go on from the cursor without a gap. Nobody agreed on them yet: what they show is where to look
 * for a block that nodes agree on below a hole.
 */
export function linkedPrefix<Header extends BlockHeader>(
  cursor: BlockName,
  blocks: readonly Header[],
): readonly Header[] {
  const prefix: Header[] = [];
  let last = cursor;
  for (const block of blocks) {
    if (!isParent(last, block)) break;
    prefix.push(block);
    last = block;
  }
  return prefix;
}
