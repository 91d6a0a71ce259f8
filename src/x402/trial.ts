import { messageOf } from '../domain/errors.ts';
import type { Chain } from '../solana/chain.ts';
import type { RecentBlockhashes } from '../solana/tx/recent-blockhashes.ts';
import type { CheckedPayment } from './record.ts';

/**
 * Result of a simulation. `landed`: the transaction is already on chain. `expired`: no node accepts its blockhash
 * (expired or not known yet), or too few blocks of its lifetime are left. `unanswered`: no node could simulate it.
 */
export type Trial =
  | { readonly kind: 'accepted'; readonly slot: bigint }
  | { readonly kind: 'landed' }
  | { readonly kind: 'expired'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: string; readonly logs: readonly string[] }
  | { readonly kind: 'unanswered'; readonly reason: string };

export interface TrialDeps {
  readonly chain: Pick<Chain, 'simulateAsIs' | 'latestBlockhash'>;
  readonly blockhashes: Pick<RecentBlockhashes, 'blocksLeft'>;
}

/** About eight seconds: for a serve-first upstream, for our signature, and for the leader. */
const FEWEST_BLOCKS_LEFT = 20;

/**
 * Simulates the transaction unchanged, on a node at the newest known blockhash. The blockhash must live long enough
 * for the settlement. If no node returns its remaining life, the simulation alone decides.
 */
export async function tryPayment(
  { chain, blockhashes }: TrialDeps,
  { wire, payment: { blockhash } }: Pick<CheckedPayment, 'wire' | 'payment'>,
): Promise<Trial> {
  try {
    const { slot: known } = await chain.latestBlockhash();
    const [{ error, logs, slot }, left] = await Promise.all([
      chain.simulateAsIs(Buffer.from(wire).toString('base64'), known),
      blockhashes.blocksLeft(blockhash),
    ]);
    if (error?.text === 'AlreadyProcessed') return { kind: 'landed' };
    if (error?.text === 'BlockhashNotFound')
      return {
        kind: 'expired',
        reason: 'the blockhash of the transaction is expired, or no node knows it yet',
      };
    if (error !== null) return { kind: 'failed', error: error.text, logs };
    if (left === null || left >= FEWEST_BLOCKS_LEFT) return { kind: 'accepted', slot };
    const reason = `the blockhash of the transaction expires after ${left} blocks; ${FEWEST_BLOCKS_LEFT} are needed: sign with a newer one`;
    return { kind: 'expired', reason };
  } catch (error) {
    return { kind: 'unanswered', reason: messageOf(error) };
  }
}
