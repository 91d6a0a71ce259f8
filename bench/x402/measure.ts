import { setTimeout as sleep } from 'node:timers/promises';
import { Chance } from '../chance.ts';
import { type Idle, measureIdle } from './idle.ts';
import type { BySeller, Market, Seller } from './market.ts';
import { PENDING, SERVED } from './payments.ts';
import {
  LEVELS,
  type LoadLevel,
  leadSeconds,
  ONE_WALLET_LEVELS,
  type Plan,
  roundCount,
  SUSTAINED_LEVEL,
} from './plan.ts';
import { received, untilReceived } from './received.ts';
import { type Demand, openSale, type Purchases, type Turn, takeTurn } from './turns.ts';
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
    readonly accounts: BySeller<SaleCount>;
  } | null;
  readonly oneWallet: {
    readonly turns: readonly OneWalletTurn[];
    readonly accounts: BySeller<SaleCount>;
  } | null;
  readonly idle: Idle;
}

type Say = (line: string) => void;

const POLL_MS = 400;
const SOLD_WITHIN_MS = 60_000;

/** Measures both sellers in turn at each level, so that noise of the machine affects both. */
export async function measure(market: Market, plan: Plan, say: Say): Promise<Measurement> {
  for (const { url } of market.sellers) await isSold(url);
  await warmUp(market, plan, say);
  const idle = await measureIdle(market, plan.idleSeconds);
  const many = plan.wallets === 'one' ? null : await measureMany(market, plan, idle, say);
  const oneWallet = plan.wallets === 'many' ? null : await measureOneWallet(market, plan, idle, say);
  return { many, oneWallet, idle };
}

/** Compiles code, opens connections and prepares statements: the highest level first, then one round of the lower ones. */
async function warmUp(market: Market, plan: Plan, say: Say): Promise<void> {
  const buyers = await fundBuyers(market.chain, market.token, plan.buyers);
  const before = await balances(market);
  const sales: Purchases[] = [];
  for (const seller of market.sellers)
    for (const inFlight of LEVELS.toReversed()) {
      const count = inFlight === SUSTAINED_LEVEL ? plan.warmUp : roundCount(plan, inFlight);
      const sell = await openSale(market, seller, { buyers, targets: 'many', inFlight, length: { count } });
      const sold = await sell();
      say(`warm-up, ${inFlight} in flight, ${describe(sold)}`);
      sales.push(sold);
    }
  await Promise.all(market.sellers.map((seller) => seller.settled()));
  // The counts that follow begin with finalized balances.
  await accounts(market, sales, before);
}

async function measureMany(market: Market, plan: Plan, idle: Idle, say: Say): Promise<Measurement['many']> {
  const buyers = await fundBuyers(market.chain, market.token, plan.buyers);
  const before = await balances(market);
  const take = async (seller: Seller, load: Omit<Demand, 'buyers' | 'targets'>, what: string) => {
    const turn = await takeTurn(market, seller, { buyers, targets: 'many', ...load }, idle);
    say(`${what}, ${describe(turn)}`);
    return turn;
  };
  const levels: LevelTurn[] = [];
  for (let round = 1; round <= plan.rounds; round += 1)
    for (const inFlight of LEVELS)
      for (const seller of market.sellers) {
        const length = { count: roundCount(plan, inFlight) };
        const nextPauseMs = inFlight === 1 ? pauses(round, idle) : undefined;
        const load = { inFlight, length, nextPauseMs };
        const turn = await take(seller, load, `round ${round}, ${inFlight} in flight`);
        levels.push({ ...turn, inFlight });
      }
  const sustained: Turn[] = [];
  const length = { seconds: plan.sustainedSeconds, leadSeconds: leadSeconds(plan) };
  for (let turn = 1; turn <= plan.sustainedTurns; turn += 1)
    for (const seller of market.sellers)
      sustained.push(await take(seller, { inFlight: SUSTAINED_LEVEL, length }, `sustained turn ${turn}`));
  return { levels, sustained, accounts: await accounts(market, [...levels, ...sustained], before) };
}

/**
 * Pauses of a uniform length from 0 to one slot, the same for both sellers in one round. So each request comes at a random
 * moment of a slot, wherever in a slot the seller answered before. Without them a seller that answers at the end of a slot always
 * waits for a whole one.
 */
function pauses(round: number, { slotMs }: Idle): () => number {
  const chance = new Chance(round);
  return () => chance.below(slotMs);
}

/** One wallet buys at one target, many times at once. */
async function measureOneWallet(
  market: Market,
  plan: Plan,
  idle: Idle,
  say: Say,
): Promise<Measurement['oneWallet']> {
  const buyers = await fundBuyers(market.chain, market.token, 1);
  const before = await balances(market);
  const turns: OneWalletTurn[] = [];
  for (const inFlight of ONE_WALLET_LEVELS)
    for (const seller of market.sellers) {
      const demand: Demand = { buyers, targets: 'one', inFlight, length: { count: plan.oneWallet } };
      const turn = await takeTurn(market, seller, demand, idle);
      say(`one wallet, ${inFlight} in flight, ${describe(turn)}`);
      turns.push({ ...turn, inFlight });
    }
  return { turns, accounts: await accounts(market, turns, before) };
}

function describe({ seller, outcomes, rate }: Purchases): string {
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

async function balances(market: Market): Promise<BySeller<number>> {
  const [ours, theirs] = market.sellers;
  return { ours: await received(market, ours), theirs: await received(market, theirs) };
}

/** Counts what each seller sold, and waits for the finalized balance to contain it. */
async function accounts(
  market: Market,
  turns: readonly Purchases[],
  before: BySeller<number>,
): Promise<BySeller<SaleCount>> {
  const accountOf = async (seller: Seller): Promise<SaleCount> => {
    const own = turns.filter((turn) => turn.seller === seller.name);
    const sum = (count: (turn: Purchases) => number) => own.reduce((all, turn) => all + count(turn), 0);
    const made = sum(({ load }) => load.count);
    const sold = sum(({ outcomes }) => outcomes[SERVED] ?? 0);
    const settled = sold + sum(({ outcomes }) => outcomes[PENDING] ?? 0);
    const start = before[seller.name];
    return { made, sold, finalized: (await untilReceived(market, seller, start + settled)) - start };
  };
  const [ours, theirs] = market.sellers;
  return { ours: await accountOf(ours), theirs: await accountOf(theirs) };
}
