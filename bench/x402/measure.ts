import { setTimeout as sleep } from 'node:timers/promises';
import type { Keypair } from '@solana/web3.js';
import { PRICED } from '../../test/peers/peer-server.ts';
import { drive, type Load } from '../load.ts';
import { type CallTally, difference } from '../tally.ts';
import type { Market, Seller } from './market.ts';
import type { Phases } from './phases.ts';
import { cpuSeconds } from './processes.ts';
import { balance, fundBuyers, type PaidRequest, signPayments } from './wallets.ts';

/** What to measure. */
export interface X402Plan {
  readonly rounds: number;
  /** Paid requests of a round, one at a time. */
  readonly alone: number;
  /** Paid requests of a round for each request in flight, where several are. */
  readonly perLane: number;
  readonly buyers: number;
}

/** Requests in flight. */
export const LEVELS = [1, 16, 64] as const;
export type LoadLevel = (typeof LEVELS)[number];

/** One load on one seller, and what it cost. */
export interface Turn {
  readonly seller: Seller['name'];
  readonly level: LoadLevel;
  readonly load: Load;
  /** Paid requests that were answered before their settlement. */
  readonly unserved: number;
  /** RPC calls until the last answer. */
  readonly rpc: CallTally;
  /** RPC calls until every payment is finalized and the seller polls no payment. */
  readonly rpcToFinal: CallTally;
  /** CPU time until the last answer. */
  readonly servingCpuSeconds: number;
  readonly supportingCpuSeconds: number;
  readonly phases: Phases | null;
}

/** All measurements of a run. */
export interface X402Measurement {
  readonly turns: readonly Turn[];
  /** RPC calls of our processes in one second without payments. */
  readonly idleRpcPerSecond: number;
  readonly paid: Readonly<Record<Seller['name'], number>>;
  /** Number of payments according to the sellers' finalized balances. */
  readonly finalized: Readonly<Record<Seller['name'], number>>;
}

const WARM_UP = 32;
const IDLE_MS = 5_000;
const POLL_MS = 400;
const SOLD_WITHIN_MS = 60_000;

/** Measures both sellers in turn at each level, so that noise of the machine affects both. */
export async function measure(
  market: Market,
  plan: X402Plan,
  say: (line: string) => void,
): Promise<X402Measurement> {
  for (const { url } of market.sellers) await isSold(url);
  const buyers = await fundBuyers(market.chain, market.token, plan.buyers);
  const paid = { ours: 0, theirs: 0 };
  const turns: Turn[] = [];
  const take = async (seller: Seller, level: LoadLevel, count: number) => {
    paid[seller.name] += count;
    return turn(market, seller, buyers, level, count);
  };
  for (const seller of market.sellers) {
    await take(seller, 16, WARM_UP);
    await finalBalance(market, seller, paid[seller.name]);
  }
  const idleRpcPerSecond = await idleRate(market.sellers[0]);
  for (let round = 1; round <= plan.rounds; round += 1) {
    for (const level of LEVELS) {
      for (const seller of market.sellers) {
        const seen = await take(seller, level, level === 1 ? plan.alone : level * plan.perLane);
        turns.push(seen);
        say(
          `round ${round}, ${level} in flight, ${seller.name}: ${(seen.load.count / seen.load.seconds).toFixed(1)}/s`,
        );
      }
    }
  }
  const [ours, theirs] = market.sellers;
  const finalized = {
    ours: await finalBalance(market, ours, paid.ours),
    theirs: await finalBalance(market, theirs, paid.theirs),
  };
  return { turns, idleRpcPerSecond, paid, finalized };
}

/** The gateway sells a route once its token accounts are finalized. */
async function isSold(url: string): Promise<void> {
  const end = Date.now() + SOLD_WITHIN_MS;
  for (;;) {
    const { status } = await fetch(url);
    if (status === 402) return;
    if (Date.now() > end) throw new Error(`${url} answers ${status}; expected 402`);
    await sleep(POLL_MS);
  }
}

async function turn(
  { nodeUrl }: Market,
  seller: Seller,
  buyers: readonly Keypair[],
  level: LoadLevel,
  count: number,
): Promise<Turn> {
  const { serving, supporting, node } = seller;
  const requests = await signPayments(seller.url, nodeUrl, buyers, count);
  const calls = () => Object.fromEntries(node.calls);
  const [before, cpu, otherCpu] = [calls(), cpuSeconds(serving), cpuSeconds(supporting)];
  const since = new Date();
  let unserved = 0;
  const load = await drive(count, level, async (index) => {
    if (!(await isServed(requests[index]))) unserved += 1;
  });
  const answered = {
    rpc: difference(before, calls()),
    servingCpuSeconds: cpuSeconds(serving) - cpu,
    supportingCpuSeconds: cpuSeconds(supporting) - otherCpu,
  };
  await seller.settled();
  return {
    seller: seller.name,
    level,
    load,
    unserved,
    ...answered,
    rpcToFinal: difference(before, calls()),
    phases: await seller.phases(since),
  };
}

/** True if the answer is the purchased one. A seller can also answer that the settlement is pending; any other answer is an error. */
async function isServed(paid: PaidRequest | undefined): Promise<boolean> {
  if (paid === undefined) throw new Error('a request has no payment');
  const response = await fetch(paid.url, { headers: { 'payment-signature': paid.header } });
  const body = await response.text();
  if (response.status === 200 && body === JSON.stringify(PRICED.body)) return true;
  const reason = response.headers.get('payment-response') ?? response.headers.get('payment-required') ?? '';
  const text = `${body} ${Buffer.from(reason, 'base64').toString()}`;
  if (/settlement_pending|timeout/.test(text)) return false;
  throw new Error(`${paid.url} answers ${response.status}: ${text.slice(0, 800)}`);
}

async function idleRate({ node }: Seller): Promise<number> {
  const sum = () => [...node.calls.values()].reduce((total, count) => total + count, 0);
  const before = sum();
  await sleep(IDLE_MS);
  return ((sum() - before) * 1_000) / IDLE_MS;
}

/** Waits at most 30 seconds until the seller's finalized balance shows this many payments, and counts them. */
async function finalBalance({ nodeUrl, token }: Market, { payTo }: Seller, paid: number): Promise<number> {
  const count = async () =>
    Number(((await balance(nodeUrl, token, payTo, 'finalized')) - 1n) / PRICED.amount);
  const end = Date.now() + 30_000;
  let seen = await count();
  while (seen < paid && Date.now() < end) {
    await sleep(POLL_MS);
    seen = await count();
  }
  return seen;
}
