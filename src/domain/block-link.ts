import type { BlockHeader } from './deposit.ts';

export type BlockName = Pick<BlockHeader, 'slot' | 'blockhash' | 'height'>;

export type Link = Pick<BlockHeader, 'slot' | 'height' | 'parentSlot' | 'previousBlockhash'>;

/**
 * Result of following parent links from an agreed block back to the cursor. `linked`: the blocks after the cursor,
 * oldest first. `wanted`: the next block to fetch, by the name that its child gives it. `contradicted`: the agreed
 * chain does not contain the cursor; `child` is its block nearest to the cursor.
 */
export type BlockLink<Header extends BlockHeader = BlockHeader> =
  | { readonly kind: 'linked'; readonly headers: readonly Header[] }
  | { readonly kind: 'wanted'; readonly name: BlockName; readonly child: Header }
  | { readonly kind: 'contradicted'; readonly child: Header };

/** The parent's name by a block's header. A node that lacks the parent cannot invent it. */
export function parentOf({ parentSlot, previousBlockhash, height }: Omit<Link, 'slot'>): BlockName {
  return { slot: parentSlot, blockhash: previousBlockhash, height: height - 1n };
}

export function isSameBlock(one: BlockName, other: BlockName): boolean {
  return one.slot === other.slot && one.blockhash === other.blockhash && one.height === other.height;
}

/**
 * True if `child` names `parent` as its parent by slot, hash and height, whatever slots are between them. Nothing else
 * proves that no block is missing: a node that lacks blocks can fail to return such a link, but cannot invent one.
 * Source: docs/decisions/0014-deposit-scan.md.
 */
export function isParent(parent: BlockName, child: Link): boolean {
  return child.slot > parent.slot && isSameBlock(parentOf(child), parent);
}

/**
 * Follows parent links from `anchor`, an agreed block, back to `cursor`. `known` returns the block with a name if a
 * node returned it; a block with another name is not followed. Heights decrease by one, so no block is skipped.
 * Source: docs/decisions/0014-deposit-scan.md.
 */
export function walkBack<Header extends BlockHeader>(
  cursor: BlockName,
  anchor: Header,
  known: (name: BlockName) => Header | undefined,
): BlockLink<Header> {
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
 * Blocks that continue from the cursor without a gap. No quorum agreed on them yet: they only show where to look for an
 * agreed block.
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
