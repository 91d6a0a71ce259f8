import { getBlockOutcomes, getTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { OutcomeMeta } from '../rpc/schemas.ts';
import { type Spending, tokenChanges } from './spending.ts';

/** A finalized outcome as one node shows it. */
export interface Outcome {
  readonly node: string;
  readonly slot: bigint;
  readonly error: string | null;
  readonly spending: Spending;
}

/** What a node shows of a transaction; null where it shows none, which proves nothing. */
export type AskOutcome = (node: SolanaNode, signature: string) => Promise<Outcome | null>;

export const askOutcome: AskOutcome = async (node, signature) => {
  const answer = await getTransaction(node, signature);
  if (answer === null || answer.meta === null) return null;
  return outcomeOf(node, answer.slot, answer.meta);
};

/**
 * As {@link askOutcome} for transactions that a node reports in one slot: each node that is asked reads its block once for all of them. One
 * that the block does not show, or that no block can be had for, is asked for alone.
 */
export function askBlockOutcome(slot: bigint, signatures: readonly string[]): AskOutcome {
  const blocks = new Map<SolanaNode, Promise<ReadonlyMap<string, OutcomeMeta> | null>>();
  const blockOf = (node: SolanaNode) => {
    const block = blocks.get(node) ?? getBlockOutcomes(node, slot, signatures).catch(() => null);
    blocks.set(node, block);
    return block;
  };
  return async (node, signature) => {
    const meta = (await blockOf(node))?.get(signature);
    return meta === undefined ? askOutcome(node, signature) : outcomeOf(node, slot, meta);
  };
}

function outcomeOf({ name }: SolanaNode, slot: bigint, meta: OutcomeMeta): Outcome {
  const { err, fee: feeLamports, preBalances: before, postBalances: after } = meta;
  const spentLamports = before === null || after === null ? null : before - after;
  const tokens = tokenChanges(meta.preTokenBalances, meta.postTokenBalances);
  const spending = { feeLamports, spentLamports, tokenChanges: tokens };
  return { node: name, slot, error: err?.text ?? null, spending };
}
