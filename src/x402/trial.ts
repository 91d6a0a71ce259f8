import { messageOf } from '../domain/errors.ts';
import type { Chain } from '../solana/chain.ts';

/**
 * What a simulation says of a payment. `landed`: the chain has it already. `expired`: no node takes its blockhash, now or yet.
 * `unanswered`: no node could run it.
 */
export type Trial =
  | { readonly kind: 'accepted'; readonly slot: bigint }
  | { readonly kind: 'landed' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'failed'; readonly error: string; readonly logs: readonly string[] }
  | { readonly kind: 'unanswered'; readonly why: string };

/** Runs the transaction (wire bytes) once as it is, on a node that has come as far as the newest blockhash that we know. */
export async function tryPayment(
  chain: Pick<Chain, 'simulateAsIs' | 'latestBlockhash'>,
  wire: Uint8Array,
): Promise<Trial> {
  try {
    const { slot: known } = await chain.latestBlockhash();
    const { error, logs, slot } = await chain.simulateAsIs(Buffer.from(wire).toString('base64'), known);
    if (error === null) return { kind: 'accepted', slot };
    if (error.text === 'AlreadyProcessed') return { kind: 'landed' };
    if (error.text === 'BlockhashNotFound') return { kind: 'expired' };
    return { kind: 'failed', error: error.text, logs };
  } catch (error) {
    return { kind: 'unanswered', why: messageOf(error) };
  }
}
