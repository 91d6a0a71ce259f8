import { messageOf } from '../../domain/errors.ts';
import { NodeFault } from '../rpc/errors.ts';
import * as rpc from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import type { TransactionError } from './error.ts';

export interface Simulation {
  readonly node: string;
  readonly slot: bigint;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint | null;
}

/** Simulations of one transaction: those that a quorum returns alike, the others, and other nodes' errors. */
export interface Simulations {
  readonly alike: readonly Simulation[];
  readonly others: readonly Simulation[];
  readonly faults: readonly string[];
}

export async function simulateAlike(
  pool: NodePool,
  raw: string,
  minContextSlot: bigint,
  isAlike: (one: Simulation, other: Simulation) => boolean,
): Promise<Simulations> {
  const seen: Simulation[] = [];
  const faults: string[] = [];
  const agreed = await pool.agreed(async (node) => {
    try {
      const simulated = await simulateOn(node, raw, minContextSlot);
      if (simulated.error === null && simulated.unitsConsumed === null)
        throw new NodeFault(node.name, 'simulateTransaction: unitsConsumed is missing');
      seen.push(simulated);
      return simulated;
    } catch (error) {
      faults.push(`${node.name}: ${messageOf(error)}`);
      throw error;
    }
  }, isAlike);
  const agrees = ({ node }: Simulation) => agreed?.nodes.includes(node) === true;
  return { alike: seen.filter(agrees), others: seen.filter((one) => !agrees(one)), faults };
}

/** See `Chain.simulateAsIs`; `replaced` = with the newest blockhash of the node. */
export async function simulateOn(
  node: SolanaNode,
  raw: string,
  minContextSlot: bigint,
  { replaced } = { replaced: true },
): Promise<Simulation> {
  const { context, value } = await rpc.simulateTransaction(node, raw, minContextSlot, replaced);
  return {
    node: node.name,
    slot: context.slot,
    error: value.err,
    logs: value.logs ?? [],
    unitsConsumed: value.unitsConsumed ?? null,
  };
}
