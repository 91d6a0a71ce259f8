import type { BlockHeader } from './deposit.ts';

/** Enough of a block to tell it from every other one. */
export type BlockName = Pick<BlockHeader, 'slot' | 'blockhash' | 'height'>;

/** Slots, both ends included. */
export interface SlotRange {
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * What walking from a block that nodes agree on back to the cursor came to. `linked`: the blocks after the cursor, the oldest first,
 * each the parent of the next; where `across` is not null the first of them follows a gap that was closed by hand. `wanted`: the
 * next block to know, by the name that its child gives it. `contradicted`: the chain that nodes agree on does not hold the cursor.
 */
export type Walk =
  | { readonly kind: 'linked'; readonly headers: readonly BlockHeader[]; readonly across: SlotRange | null }
  | { readonly kind: 'wanted'; readonly name: BlockName }
  | { readonly kind: 'contradicted'; readonly name: BlockName };

/** The name that a block gives to its parent: header data that a node without the parent cannot make up. */
export function parentOf({ parentSlot, previousBlockhash, height }: BlockHeader): BlockName {
  return { slot: parentSlot, blockhash: previousBlockhash, height: height - 1n };
}

export function isSameBlock(one: BlockName, other: BlockName): boolean {
  return one.slot === other.slot && one.blockhash === other.blockhash && one.height === other.height;
}

/** True where `child` names `parent` as the block before it, by slot, hash and height. */
export function isParent(parent: BlockName, child: BlockHeader): boolean {
  return child.slot > parent.slot && isSameBlock(parentOf(child), parent);
}

/**
 * Walks from `anchor` to `cursor` over `known` blocks, of which any may be forged: one whose name is not the one that its child gives
 * it counts as not known. `closed` are gaps that an operator closed: one that begins right after the cursor is
 * crossed where its blocks are still not known.
 * Source: DESIGN, promise 2; solana §2.3.3.
 */
export function walkBack(
  cursor: BlockName,
  anchor: BlockName,
  known: (slot: bigint) => BlockHeader | undefined,
  closed: readonly SlotRange[] = [],
): Walk {
  const downwards: BlockHeader[] = [];
  for (let name = anchor; ; ) {
    const linked = (across: SlotRange | null): Walk => ({
      kind: 'linked',
      headers: downwards.toReversed(),
      across,
    });
    if (isSameBlock(name, cursor)) return linked(null);
    if (name.slot <= cursor.slot || name.height <= cursor.height) return { kind: 'contradicted', name };
    const block = known(name.slot);
    if (block === undefined || !isSameBlock(block, name) || block.parentSlot >= block.slot) {
      const across = closed.find(({ from, to }) => from === cursor.slot + 1n && name.slot <= to);
      return across === undefined || downwards.length === 0 ? { kind: 'wanted', name } : linked(across);
    }
    downwards.push(block);
    name = parentOf(block);
  }
}

/**
 * The blocks of an ascending list that go on from the cursor without a gap. Nobody agreed on them yet: what they show is where to look
 * for a block that nodes agree on below a hole.
 */
export function linkedPrefix(cursor: BlockName, blocks: readonly BlockHeader[]): readonly BlockHeader[] {
  const prefix: BlockHeader[] = [];
  let last = cursor;
  for (const block of blocks) {
    if (!isParent(last, block)) break;
    prefix.push(block);
    last = block;
  }
  return prefix;
}
