import { setTimeout as sleep } from 'node:timers/promises';
import { driveWhile, type Load } from '../load.ts';
import type { CallTally } from '../tally.ts';
import { type Costs, startCosts, withoutIdle } from './costs.ts';
import type { Idle } from './idle.ts';
import type { Market, Seller } from './market.ts';
import { type PurchaseOutcome, type Purchasing, present, SERVED, startPaying } from './payments.ts';

/** One load on one seller. */
export interface Purchases {
  readonly seller: Seller['name'];
  readonly load: Load;
  readonly outcomes: CallTally;
  /** Served requests, and the seconds in which they were answered. */
  readonly rate: { readonly served: number; readonly seconds: number };
}

/** One load on one seller, and its costs, without those of the idle market in the pauses of the load. */
export interface Turn extends Purchases {
  /** Until the last answer. */
  readonly untilAnswer: Costs;
  /** Until every payment is finalized and nothing remains to do for any. */
  readonly untilFinal: Costs;
}

/** A number of requests, or a load that is measured for `seconds` after a lead of `leadSeconds`. */
export type Length = { readonly count: number } | { readonly seconds: number; readonly leadSeconds: number };

export interface Demand extends Pick<Purchasing, 'buyers' | 'targets'> {
  readonly inFlight: number;
  readonly length: Length;
  /** Returns the pause before the next request. For one in flight: with several, a pause does not stop the load. */
  readonly nextPauseMs?: (() => number) | undefined;
}

interface PaidAnswer {
  readonly outcome: PurchaseOutcome;
  /** Milliseconds since the start of the load. */
  readonly atMs: number;
}

export async function takeTurn(market: Market, seller: Seller, demand: Demand, idle: Idle): Promise<Turn> {
  const sell = await openSale(market, seller, demand);
  const costs = startCosts(market, seller);
  const sales = await sell();
  const pausedShare = sales.load.pausedSeconds / idle.seconds;
  const ownCosts = () => withoutIdle(costs(), idle.costs[seller.name], pausedShare);
  const untilAnswer = ownCosts();
  await seller.settled();
  return { ...sales, untilAnswer, untilFinal: ownCosts() };
}

/** Asks the seller for its terms. The returned function pays, until the last answer. */
export async function openSale(
  market: Market,
  seller: Seller,
  demand: Demand,
): Promise<() => Promise<Purchases>> {
  const { inFlight, length, nextPauseMs } = demand;
  const next = await startPaying({ ...demand, sellerUrl: seller.url, nodeUrl: market.nodeUrl });
  return async () => {
    const startedAt = performance.now();
    const elapsedMs = () => performance.now() - startedAt;
    const answers: PaidAnswer[] = [];
    const isNext = (index: number) =>
      'count' in length ? index < length.count : elapsedMs() < 1_000 * (length.leadSeconds + length.seconds);
    const pay = async (index: number) => {
      const outcome = await present(await next(index));
      answers.push({ outcome, atMs: elapsedMs() });
    };
    const pause = nextPauseMs === undefined ? undefined : () => sleep(nextPauseMs());
    const load = await driveWhile(isNext, inFlight, pay, pause);
    return {
      seller: seller.name,
      load,
      outcomes: tallyOf(answers),
      rate: rateOf(answers, length, load),
    };
  };
}

function tallyOf(answers: readonly PaidAnswer[]): CallTally {
  const counts: Record<string, number> = {};
  for (const { outcome } of answers) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Pauses do not count. Of a sustained load, only the seconds after its lead count, without ramp and drain. */
function rateOf(answers: readonly PaidAnswer[], length: Length, load: Load): Purchases['rate'] {
  const served = answers.filter(({ outcome }) => outcome === SERVED);
  if ('count' in length) return { served: served.length, seconds: load.seconds - load.pausedSeconds };
  const [from, to] = [1_000 * length.leadSeconds, 1_000 * (length.leadSeconds + length.seconds)];
  const inTime = served.filter(({ atMs }) => atMs >= from && atMs < to);
  return { served: inTime.length, seconds: length.seconds };
}
