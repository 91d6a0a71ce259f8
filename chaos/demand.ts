import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { newWallet } from '../devkit/localnet/wallet.ts';
import type { SluiceClient, WithdrawalTerms } from '../src/client/client.ts';
import { retryWhileUnavailable } from './unavailable.ts';
import { asWanted, type ChaosMarket, type Wanted } from './wanted.ts';

/** One withdrawal to request `atMs` milliseconds after the start. */
export interface PlannedWithdrawal {
  readonly atMs: number;
  readonly terms: WithdrawalTerms;
}

export interface DemandPlan {
  readonly seed: number;
  readonly withdrawals: number;
  readonly minutes: number;
  /** Prefix that makes the ids unique in each run: an id can be used only once. */
  readonly run: string;
  readonly wanted: readonly Wanted[];
}

const DEMAND_SHARE = 0.95;

/**
 * Half SOL, half tokens, to new wallets and old ones, evenly over the run but for those that are wanted at a moment; every fifth order has
 * a twin of equal terms at the same moment.
 */
export function drawDemand(
  { seed, withdrawals, minutes, run, wanted }: DemandPlan,
  market: ChaosMarket,
): readonly PlannedWithdrawal[] {
  const draws = fc.sample(fc.nat({ max: 999_999 }), { seed, numRuns: withdrawals, unbiased: true });
  const stepMs = (minutes * 60_000 * DEMAND_SHARE) / withdrawals;
  const orders: PlannedWithdrawal[] = [];
  for (const [index, draw] of draws.entries()) {
    const twin = index % 5 === 1 ? orders[index - 1] : undefined;
    const id = `chaos-${run}-${index}`;
    orders.push(
      twin === undefined
        ? { atMs: Math.round(index * stepMs), terms: { id, ...drawTerms(draw, market) } }
        : { atMs: twin.atMs, terms: { ...twin.terms, id } },
    );
  }
  return atMoments(orders, wanted, market);
}

/** Brings forward, or puts off, the nearest order for each that is wanted, with the terms that are; twins stay together. */
function atMoments(
  orders: readonly PlannedWithdrawal[],
  all: readonly Wanted[],
  market: ChaosMarket,
): readonly PlannedWithdrawal[] {
  const moved = [...orders];
  const free = orders.flatMap((_, index) => (index % 5 > 1 ? [index] : []));
  for (const wanted of all) {
    const { atMs } = wanted;
    const away = (index: number): number => Math.abs((orders[index]?.atMs ?? 0) - atMs);
    const [nearest] = free.toSorted((a, b) => away(a) - away(b));
    const order = nearest === undefined ? undefined : orders[nearest];
    if (nearest === undefined || order === undefined) break;
    free.splice(free.indexOf(nearest), 1);
    moved[nearest] = { atMs, terms: asWanted(order.terms, wanted, market) };
  }
  return moved;
}

function drawTerms(draw: number, market: ChaosMarket): Omit<WithdrawalTerms, 'id'> {
  const { mint, feeMint, pausableMint, wallets } = market;
  // Each choice by digits of its own: any asset goes to any kind of wallet.
  const [fresh, asset, old] = [draw % 3, Math.floor(draw / 3) % 6, Math.floor(draw / 18)];
  return {
    asset: ['SOL', 'SOL', 'SOL', mint, feeMint, pausableMint][asset] ?? 'SOL',
    amount: String(1_000_000 + draw),
    destination: fresh === 0 ? newWallet().address : (wallets[old % wallets.length] ?? newWallet().address),
    acceptEmptyWallet: true,
  };
}

/** Requests one withdrawal until the API has accepted it, however often the API is killed meanwhile. */
export async function place(
  sluice: SluiceClient,
  order: PlannedWithdrawal,
  startMs: number,
  end: AbortSignal,
): Promise<void> {
  await sleep(Math.max(0, startMs + order.atMs - performance.now()), undefined, { signal: end });
  await retryWhileUnavailable(() => sluice.withdraw(order.terms, { signal: end }), end);
}
