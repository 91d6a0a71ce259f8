import type { BlockHeader } from './deposit.ts';

/** Identifies a block and its position on the chain. */
export type BlockId = Pick<BlockHeader, 'slot' | 'blockhash' | 'height'>;

export type LinkHeader = Pick<BlockHeader, 'slot' | 'height' | 'parentSlot' | 'previousBlockhash'>;

/**
 * Result of following parent links from an agreed block back to the cursor. `linked`: the blocks after the cursor,
 * oldest first. `wanted`: the next block to fetch, identified by the slot, hash and height that its child's header
 * gives. `contradicted`: the agreed chain does not contain the cursor; `child` is the block of the agreed chain that is
 * nearest to the cursor.
 */
export type BlockLink<Header extends BlockHeader = BlockHeader> =
  | { readonly kind: 'linked'; readonly headers: readonly Header[] }
  | { readonly kind: 'wanted'; readonly name: BlockId; readonly child: Header }
  | { readonly kind: 'contradicted'; readonly child: Header };

/** The parent's id, from a block's header. */
export function parentOf({ parentSlot, previousBlockhash, height }: Omit<LinkHeader, 'slot'>): BlockId {
  return { slot: parentSlot, blockhash: previousBlockhash, height: height - 1n };
}

export function isSameBlock(one: BlockId, other: BlockId): boolean {
  return one.slot === other.slot && one.blockhash === other.blockhash && one.height === other.height;
}

/**
 * True if the header of `child` has the slot, hash and height of `parent`, whatever slots are between them. Only this
 * proves that no block is missing: a node that lacks blocks can fail to return such a link, but cannot invent one.
 * Source: docs/decisions/0014-deposit-scan.md.
 */
export function isParent(parent: BlockId, child: LinkHeader): boolean {
  return child.slot > parent.slot && isSameBlock(parentOf(child), parent);
}

/**
 * Follows parent links from `anchor`, an agreed block, back to `cursor`. `blockOf` returns the block with an id if a
 * node returned that block; a block with a different id is not followed. Heights decrease by one, so no block is
 * skipped.
 * Source: docs/decisions/0014-deposit-scan.md.
 */
export function walkBack<Header extends BlockHeader>(
  cursor: BlockId,
  anchor: Header,
  blockOf: (name: BlockId) => Header | undefined,
): BlockLink<Header> {
  const headers: Header[] = [];
  for (let child = anchor; ; ) {
    const name = parentOf(child);
    if (child.slot <= cursor.slot || name.slot >= child.slot || name.height < cursor.height)
      return { kind: 'contradicted', child };
    headers.push(child);
    if (isSameBlock(name, cursor)) return { kind: 'linked', headers: headers.toReversed() };
    if (name.slot <= cursor.slot) return { kind: 'contradicted', child };
    const block = blockOf(name);
    if (block === undefined || !isSameBlock(block, name)) return { kind: 'wanted', name, child };
    child = block;
  }
}

/**
 * The first blocks of `blocks` that continue from the cursor without a gap. No quorum has agreed on these blocks yet:
 * they only indicate where an agreed block can be found.
 */
export function linkedPrefix<Header extends BlockHeader>(
  cursor: BlockId,
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
