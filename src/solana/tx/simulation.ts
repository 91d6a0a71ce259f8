import { messageOf } from '../../domain/errors.ts';
import { NodeFault } from '../rpc/errors.ts';
import * as rpc from '../rpc/methods.ts';
import type { SolanaNode } from '../rpc/node.ts';
import type { NodePool } from '../rpc/pool.ts';
import type { AccountInfo } from '../rpc/schemas.ts';
import type { TransactionError } from './error.ts';

export interface Simulation {
  readonly node: string;
  readonly slot: bigint;
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint | null;
  /** The requested accounts after the transaction; null or empty if the node returns none. */
  readonly accounts: readonly (AccountInfo | null)[] | null;
}

/** Simulations of one transaction. `quorumResults`: those on which a quorum agrees. `faults`: errors of other nodes. */
export interface Simulations {
  readonly quorumResults: readonly Simulation[];
  readonly otherResults: readonly Simulation[];
  readonly faults: readonly string[];
}

export async function simulateOnQuorum(
  pool: NodePool,
  raw: string,
  minContextSlot: bigint,
  isAlike: (one: Simulation, other: Simulation) => boolean,
): Promise<Simulations> {
  const simulations: Simulation[] = [];
  const faults: string[] = [];
  const agreed = await pool.agreed(async (node) => {
    try {
      const simulation = await simulateOn(node, raw, minContextSlot);
      if (simulation.error === null && simulation.unitsConsumed === null)
        throw new NodeFault(node.name, 'simulateTransaction: unitsConsumed is missing');
      simulations.push(simulation);
      return simulation;
    } catch (error) {
      faults.push(`${node.name}: ${messageOf(error)}`);
      throw error;
    }
  }, isAlike);
  const agrees = ({ node }: Simulation) => agreed?.nodes.includes(node) === true;
  return {
    quorumResults: simulations.filter(agrees),
    otherResults: simulations.filter((one) => !agrees(one)),
    faults,
  };
}

/**
 * Simulates on one node. `replaceBlockhash`: with the node's newest blockhash instead of the transaction's own.
 * `accounts`: addresses of the accounts to return.
 */
export async function simulateOn(
  node: SolanaNode,
  raw: string,
  minContextSlot: bigint,
  { replaceBlockhash, accounts = [] }: { replaceBlockhash: boolean; accounts?: readonly string[] } = {
    replaceBlockhash: true,
  },
): Promise<Simulation> {
  const { context, value } = await rpc.simulateTransaction(
    node,
    raw,
    minContextSlot,
    replaceBlockhash,
    accounts,
  );
  return {
    node: node.name,
    slot: context.slot,
    error: value.err,
    logs: value.logs ?? [],
    unitsConsumed: value.unitsConsumed ?? null,
    accounts: value.accounts ?? null,
  };
}
