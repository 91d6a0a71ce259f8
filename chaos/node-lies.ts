import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT_LIES, STATUS_LIES, type StatusLie } from '../devkit/localnet/rpc/false-answers.ts';
import { rpc } from '../devkit/localstack/rpc.ts';
import { type Heal, repeatedly } from './heal.ts';
import { type FaultName, LIE_PATIENCE_MS } from './kinds.ts';
import type { ScriptedFault } from './node-faults.ts';
import type { Injection } from './schedule.ts';
import { type OrderTerms, tokenOrders } from './wanted.ts';

/** What one node of these is made to lie about. */
export interface Liars {
  readonly rpcUrls: readonly string[];
  readonly terms: readonly OrderTerms[];
}

/** The lies of a fault, one after the other by the same node: a quorum that lies together looks like a chain. */
type Lies = (liars: Liars) => readonly (readonly ScriptedFault[])[];

/** A price in micro-lamports per compute unit that is above the limit of any payment. */
const HIGH_PRICE = 1_000_000_000;
/** Far more compute units than any payment of ours needs; and so few that none lands. */
const UNITS = { high: 1_390_000, low: 1 };

export const NODE_LIES = {
  node_false_account: ({ terms }) => {
    const holders = tokenOrders(terms).map(({ destination, asset }) => ({ owner: destination, mint: asset }));
    return ACCOUNT_LIES.map((accountLie) => {
      const parameters =
        accountLie === 'made-token-account' ? { lie: accountLie, holders } : { lie: accountLie };
      return READS.map((method) => ({ method, fault: { kind: 'false-account', ...parameters } }));
    });
  },
  node_false_price: () => [priced(HIGH_PRICE, UNITS.low), priced(HIGH_PRICE, UNITS.high)],
  // A node that lists dead attempts is soon asked for no statuses any more: so it lies about statuses alone first.
  node_false_status: () => [
    ...STATUS_LIES.map((statusLie) => [status(statusLie)]),
    ...STATUS_LIES.map((statusLie) => [status(statusLie), HISTORY]),
  ],
} as const satisfies Partial<Record<FaultName, Lies>>;

export type LieName = keyof typeof NODE_LIES;

const READS = ['getMultipleAccounts', 'getAccountInfo'] as const;
const EACH_LIE_MS = 1_500;
const LOOK_MS = 1_500;

const HISTORY: ScriptedFault = { method: 'getSignaturesForAddress', fault: { kind: 'false-history' } };

function status(statusLie: StatusLie): ScriptedFault {
  return { method: 'getSignatureStatuses', fault: { kind: 'false-status', lie: statusLie } };
}

function priced(microLamports: number, units: number): readonly ScriptedFault[] {
  return [
    { method: 'getRecentPrioritizationFees', fault: { kind: 'false-price', microLamports } },
    { method: 'simulateTransaction', fault: { kind: 'false-units', units } },
  ];
}

/** The node with the most requests returns each lie in turn. A lie that nothing has met yet lasts {@link LIE_PATIENCE_MS} longer. */
export async function lie(liars: Liars, kind: LieName, { draw }: Injection): Promise<Heal> {
  const lies = NODE_LIES[kind](liars);
  const node = await busiest(liars, draw);
  const [url = ''] = liars.rpcUrls;
  const kinds = new Set(lies.flat().map(({ fault }) => fault.kind));
  const methods = new Set(lies.flat().map(({ method }) => method));
  const clear = async () => {
    for (const method of methods) await rpc(url, 'localnet_clearFaults', [node, method]);
  };
  const met = async (): Promise<number> => {
    const all = await metOf(url, node);
    return [...kinds].reduce((sum, one) => sum + (all[one] ?? 0), 0);
  };
  const before = await met();
  let turn = 0;
  const setNextLie = async (): Promise<number> => {
    await clear();
    for (const { method, fault } of lies[turn % lies.length] ?? [])
      await rpc(url, 'localnet_setFault', [node, method, fault]);
    turn += 1;
    return (await met()) - before;
  };
  const lying = repeatedly(EACH_LIE_MS, setNextLie, LIE_PATIENCE_MS);
  return async () => {
    await lying();
    await clear();
    return (await met()) - before;
  };
}

/** The node that processes of ours ask most: each of them takes it for the best one. Where nothing is asked, the drawn one. */
async function busiest({ rpcUrls }: Liars, draw: number): Promise<number> {
  const [url = ''] = rpcUrls;
  const nodes = rpcUrls.map((_, node) => node);
  const asked = () => Promise.all(nodes.map(async (node) => (await metOf(url, node))['delay'] ?? 0));
  const before = await asked();
  for (const node of nodes)
    for (const method of WATCHED)
      await rpc(url, 'localnet_setFault', [node, method, { kind: 'delay', ms: 0 }]);
  await sleep(LOOK_MS);
  for (const node of nodes)
    for (const method of WATCHED) await rpc(url, 'localnet_clearFaults', [node, method]);
  const calls = (await asked()).map((count, node) => count - (before[node] ?? 0));
  const most = Math.max(...calls);
  return most === 0 ? draw % rpcUrls.length : calls.indexOf(most);
}

/** Reads of the best node. No other fault that may strike at the same time names them. */
const WATCHED = ['getMultipleAccounts', 'getSignatureStatuses'] as const;

function metOf(url: string, node: number): Promise<Readonly<Record<string, number>>> {
  return rpc(url, 'localnet_faultsMet', [node]);
}
