import { type CallTally, difference, total } from '../tally.ts';
import type { Market, Seller } from './market.ts';
import { cpuMs } from './processes.ts';

/** Costs of a period. `cpu` is in milliseconds by process, with those of the driver and the chain. */
export interface Costs {
  readonly cpu: CallTally;
  readonly rpc: CallTally;
  /** WebSocket messages of the node to the seller. */
  readonly notifications: CallTally;
  /** RPC calls of the processes of the product that serve no payment. */
  readonly besideRpc: CallTally;
}

/** Processes that both sellers need: this one, with buyers, proxies and our upstream, and the chain. */
const SHARED = { driver: 'driver', chain: 'chain' } as const;

/** Starts to measure. Each call of the returned function gives the costs since the start. */
export function startCosts(market: Market, seller: Seller): () => Costs {
  const read = () => costsNow(market, seller);
  const before = read();
  return () => combine(before, read(), difference);
}

/**
 * The costs without `share` times the costs of the idle market. Only the pauses of a turn are subtracted: they make the turn longer,
 * and a seller with more background work must not pay for that. Work that a payment causes during a pause remains a cost.
 */
export function withoutIdle(costs: Costs, idle: Costs, share: number): Costs {
  return combine(costs, idle, (sums, idleSums) =>
    Object.fromEntries(
      Object.entries(sums).map(([name, sum]) => [name, sum - share * (idleSums[name] ?? 0)]),
    ),
  );
}

function combine(one: Costs, other: Costs, how: (one: CallTally, other: CallTally) => CallTally): Costs {
  return {
    cpu: how(one.cpu, other.cpu),
    rpc: how(one.rpc, other.rpc),
    notifications: how(one.notifications, other.notifications),
    besideRpc: how(one.besideRpc, other.besideRpc),
  };
}

/** CPU time of the seller's own processes. */
export function ownCpuMs({ cpu }: Costs): number {
  return total(cpu) - (cpu[SHARED.driver] ?? 0) - (cpu[SHARED.chain] ?? 0);
}

function costsNow({ chain }: Market, { processes, node, besideNode }: Seller): Costs {
  const { user, system } = process.cpuUsage();
  return {
    cpu: {
      ...cpuMs({ ...processes, [SHARED.chain]: chain.process.pid ?? 0 }),
      [SHARED.driver]: (user + system) / 1_000,
    },
    rpc: Object.fromEntries(node.calls),
    notifications: Object.fromEntries(node.notifications),
    besideRpc: Object.fromEntries(besideNode?.calls ?? []),
  };
}
