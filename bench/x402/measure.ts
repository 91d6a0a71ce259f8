import { setTimeout as sleep } from 'node:timers/promises';
import { type CallTally, total } from '../tally.ts';
import { type Costs, ownCpuMs, startCosts } from './costs.ts';
import type { Market, Seller } from './market.ts';
import { PENDING, SERVED } from './payments.ts';
import {
  LEVELS,
  type LoadLevel,
  leadSeconds,
  ONE_WALLET_LEVELS,
  type Plan,
  SUSTAINED_LEVEL,
} from './plan.ts';
import { received, untilReceived } from './received.ts';
import { type Length, type Turn, takeTurn } from './turns.ts';
import { fundBuyers } from './wallets.ts';

export interface LevelTurn extends Turn {
  readonly inFlight: LoadLevel;
}

export interface OneWalletTurn extends Turn {
  readonly inFlight: (typeof ONE_WALLET_LEVELS)[number];
}

/** Payments of one seller: presented, answered with the resource, and received according to its finalized balance. */
export interface SaleCount {
  readonly made: number;
  readonly sold: number;
  readonly finalized: number;
}

/** All measurements of a run. `many` and `oneWallet` are null if the plan leaves them out. */
export interface Measurement {
  readonly many: {
    readonly levels: readonly LevelTurn[];
    readonly sustained: readonly Turn[];
    readonly accounts: Readonly<Record<Seller['name'], SaleCount>>;
  } | null;
  readonly oneWallet: {
    readonly turns: readonly OneWalletTurn[];
    readonly accounts: Readonly<Record<Seller['name'], SaleCount>>;
  } | null;
  readonly idle: Idle;
}

/** Costs of our processes in a second without payments. */
export interface Idle {
  readonly rpcPerSecond: number;
  readonly besideRpcPerSecond: number;
  readonly cpuMsPerSecond: number;
}

type Say = (line: string) => void;

const IDLE_SECONDS = 5;
const POLL_MS = 400;
const SOLD_WITHIN_MS = 60_000;

/** Measures both sellers in turn at each level, so that noise of the machine affects both. */
export async function measure(market: Market, plan: Plan, say: Say): Promise<Measurement> {
  for (const { url } of market.sellers) await isSold(url);
  await warmUp(market, plan, say);
  const idle = await idleCosts(market);
  const many = plan.wallets === 'one' ? null : await measureMany(market, plan, say);
  const oneWallet = plan.wallets === 'many' ? null : await measureOneWallet(market, plan, say);
  return { many, oneWallet, idle };
}

async function warmUp(market: Market, { warmUp: count, buyers: wallets }: Plan, say: Say): Promise<void> {
  const buyers = await fundBuyers(market.chain, market.token, wallets);
  const before = await balances(market);
  const turns: Turn[] = [];
  for (const seller of market.sellers) {
    const turn = await takeTurn(market, seller, { buyers, targets: 'many' }, SUSTAINED_LEVEL, { count });
    say(`warm-up, ${describe(turn)}`);
    turns.push(turn);
  }
  // The counts that follow begin with finalized balances.
  await accounts(market, turns, before);
}

async function measureMany(market: Market, plan: Plan, say: Say): Promise<Measurement['many']> {
  const buyers = await fundBuyers(market.chain, market.token, plan.buyers);
  const before = await balances(market);
  const take = async (seller: Seller, inFlight: number, length: Length, what: string) => {
    const turn = await takeTurn(market, seller, { buyers, targets: 'many' }, inFlight, length);
    say(`${what}, ${describe(turn)}`);
    return turn;
  };
  const levels: LevelTurn[] = [];
  for (let round = 1; round <= plan.rounds; round += 1)
    for (const inFlight of LEVELS)
      for (const seller of market.sellers) {
        const count = inFlight === 1 ? plan.alone : inFlight * plan.perLane;
        const turn = await take(seller, inFlight, { count }, `round ${round}, ${inFlight} in flight`);
        levels.push({ ...turn, inFlight });
      }
  const sustained: Turn[] = [];
  const length = { seconds: plan.sustainedSeconds, leadSeconds: leadSeconds(plan) };
  for (let turn = 1; turn <= plan.sustainedTurns; turn += 1)
    for (const seller of market.sellers)
      sustained.push(await take(seller, SUSTAINED_LEVEL, length, `sustained turn ${turn}`));
  return { levels, sustained, accounts: await accounts(market, [...levels, ...sustained], before) };
}

/** One wallet buys at one target, many times at once. */
async function measureOneWallet(market: Market, plan: Plan, say: Say): Promise<Measurement['oneWallet']> {
  const buyers = await fundBuyers(market.chain, market.token, 1);
  const before = await balances(market);
  const turns: OneWalletTurn[] = [];
  for (const inFlight of ONE_WALLET_LEVELS)
    for (const seller of market.sellers) {
      const length = { count: plan.oneWallet };
      const turn = await takeTurn(market, seller, { buyers, targets: 'one' }, inFlight, length);
      say(`one wallet, ${inFlight} in flight, ${describe(turn)}`);
      turns.push({ ...turn, inFlight });
    }
  return { turns, accounts: await accounts(market, turns, before) };
}

function describe({ seller, outcomes, rate }: Turn): string {
  const { [SERVED]: served = 0, ...others } = outcomes;
  const rest = Object.entries(others).map(([outcome, count]) => `; ${count} x ${outcome}`);
  return `${seller}: ${served} served, ${(rate.served / rate.seconds).toFixed(1)}/s${rest.join('')}`;
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

async function idleCosts(market: Market): Promise<Idle> {
  const [ours] = market.sellers;
  const costs = startCosts(market, ours);
  await sleep(1_000 * IDLE_SECONDS);
  const idle: Costs = costs();
  const perSecond = (tally: CallTally) => total(tally) / IDLE_SECONDS;
  return {
    rpcPerSecond: perSecond(idle.rpc),
    besideRpcPerSecond: perSecond(idle.besideRpc),
    cpuMsPerSecond: ownCpuMs(idle) / IDLE_SECONDS,
  };
}

type BySeller<T> = Readonly<Record<Seller['name'], T>>;

async function balances(market: Market): Promise<BySeller<number>> {
  const [ours, theirs] = market.sellers;
  return { ours: await received(market, ours), theirs: await received(market, theirs) };
}

/** Counts what each seller sold, and waits for the finalized balance to contain it. */
async function accounts(
  market: Market,
  turns: readonly Turn[],
  before: BySeller<number>,
): Promise<BySeller<SaleCount>> {
  const accountOf = async (seller: Seller): Promise<SaleCount> => {
    const own = turns.filter((turn) => turn.seller === seller.name);
    const sum = (count: (turn: Turn) => number) => own.reduce((all, turn) => all + count(turn), 0);
    const made = sum(({ load }) => load.count);
    const sold = sum(({ outcomes }) => outcomes[SERVED] ?? 0);
    const settled = sold + sum(({ outcomes }) => outcomes[PENDING] ?? 0);
    const start = before[seller.name];
    return { made, sold, finalized: (await untilReceived(market, seller, start + settled)) - start };
  };
  const [ours, theirs] = market.sellers;
  return { ours: await accountOf(ours), theirs: await accountOf(theirs) };
}
