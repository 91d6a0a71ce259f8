import type { NodeView } from './call.ts';

const SLOTS = 150;

/** An entry of the false price for each of the newest slots, with a transaction or without; null where the node tells the truth. */
export function falsePrices(view: NodeView): readonly unknown[] | null {
  const price = view.falsePrice;
  if (price === null) return null;
  const newest = view.at('confirmed').slot;
  const blocks = view.chain.ledger.range(Math.max(1, newest - SLOTS + 1), newest);
  return blocks.map(({ slot }) => ({ prioritizationFee: price, slot }));
}
