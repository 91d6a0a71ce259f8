import { nullIfNodesFail } from '../rpc/errors.ts';
import { getBlockOutcomes, getTransaction } from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { OutcomeMeta } from '../rpc/schemas.ts';
import { type Spending, tokenChanges } from './spending.ts';

export interface TransactionOutcome {
  readonly node: string;
  readonly slot: bigint;
  readonly error: string | null;
  readonly spending: Spending;
}

/** Requests a transaction's finalized outcome from a node. Null if the node returns none, which proves nothing. */
export type AskOutcome = (node: SolanaNode, signature: string) => Promise<TransactionOutcome | null>;

export const askOutcome: AskOutcome = async (node, signature) => {
  const answer = await getTransaction(node, signature);
  if (answer === null || answer.meta === null) return null;
  return outcomeOf(node, answer.slot, answer.meta);
};

/**
 * Like {@link askOutcome}, for transactions in one slot: reads their block only once from each node. Requests a single
 * transaction if the block lacks it or cannot be read.
 */
export function askBlockOutcome(slot: bigint, signatures: readonly string[]): AskOutcome {
  const blocks = new Map<SolanaNode, Promise<ReadonlyMap<string, OutcomeMeta> | null>>();
  const blockOf = (node: SolanaNode) => {
    const block = blocks.get(node) ?? getBlockOutcomes(node, slot, signatures).catch(nullIfNodesFail);
    blocks.set(node, block);
    return block;
  };
  return async (node, signature) => {
    const meta = (await blockOf(node))?.get(signature);
    return meta === undefined ? askOutcome(node, signature) : outcomeOf(node, slot, meta);
  };
}

function outcomeOf({ name }: SolanaNode, slot: bigint, meta: OutcomeMeta): TransactionOutcome {
  const { err, fee: feeLamports, preBalances: before, postBalances: after } = meta;
  const spentLamports = before === null || after === null ? null : before - after;
  const tokens = tokenChanges(meta.preTokenBalances, meta.postTokenBalances);
  const spending = { feeLamports, spentLamports, tokenChanges: tokens };
  return { node: name, slot, error: err?.text ?? null, spending };
}
