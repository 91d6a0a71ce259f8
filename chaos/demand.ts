import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { SluiceClient, WithdrawalTerms } from '../src/client/client.ts';
import { newWallet } from '../src/localnet/wallet.ts';
import { retryWhileUnavailable } from './unavailable.ts';

/** One withdrawal to ask for, `atMs` after the start. */
export interface Order {
  readonly atMs: number;
  readonly terms: WithdrawalTerms;
}

export interface DemandPlan {
  readonly seed: number;
  readonly withdrawals: number;
  readonly minutes: number;
  /** Makes ids new in each run, since they are taken for ever. */
  readonly run: string;
  /** Moments at which one must be on its way, in milliseconds after the start. */
  readonly wantedAtMs: readonly number[];
}

/** What can be paid: the mints of the chain, and wallets that hold something already. */
export interface Market {
  readonly mint: string;
  readonly feeMint: string;
  readonly wallets: readonly string[];
}

const DEMAND_SHARE = 0.95;

/**
 * Half SOL, half tokens, to new wallets and old ones, evenly over the run but for those that are wanted at a moment; every fifth order has
 * a twin of equal terms at the same moment.
 */
export function drawDemand(
  { seed, withdrawals, minutes, run, wantedAtMs }: DemandPlan,
  market: Market,
): readonly Order[] {
  const draws = fc.sample(fc.nat({ max: 999_999 }), { seed, numRuns: withdrawals, unbiased: true });
  const stepMs = (minutes * 60_000 * DEMAND_SHARE) / withdrawals;
  const orders: Order[] = [];
  for (const [index, draw] of draws.entries()) {
    const twin = index % 5 === 1 ? orders[index - 1] : undefined;
    const id = `chaos-${run}-${index}`;
    orders.push(
      twin === undefined
        ? { atMs: Math.round(index * stepMs), terms: { id, ...drawTerms(draw, market) } }
        : { atMs: twin.atMs, terms: { ...twin.terms, id } },
    );
  }
  return atMoments(orders, wantedAtMs);
}

/** Brings forward, or puts off, the nearest order for each moment; twins stay together. */
function atMoments(orders: readonly Order[], moments: readonly number[]): readonly Order[] {
  const moved = [...orders];
  const free = orders.flatMap((_, index) => (index % 5 > 1 ? [index] : []));
  for (const atMs of moments) {
    const away = (index: number): number => Math.abs((orders[index]?.atMs ?? 0) - atMs);
    const [nearest] = free.toSorted((a, b) => away(a) - away(b));
    const order = nearest === undefined ? undefined : orders[nearest];
    if (nearest === undefined || order === undefined) break;
    free.splice(free.indexOf(nearest), 1);
    moved[nearest] = { ...order, atMs };
  }
  return moved;
}

function drawTerms(draw: number, { mint, feeMint, wallets }: Market): Omit<WithdrawalTerms, 'id'> {
  const asset = ['SOL', 'SOL', mint, feeMint][draw % 4] ?? 'SOL';
  const old = wallets[draw % wallets.length] ?? newWallet().address;
  const destination = draw % 3 === 0 ? newWallet().address : old;
  return { asset, amount: String(1_000_000 + draw), destination, acceptEmptyWallet: true };
}

/** Asks for one withdrawal until the API has taken it, however often the API dies in between. */
export async function place(
  sluice: SluiceClient,
  order: Order,
  startMs: number,
  end: AbortSignal,
): Promise<void> {
  await sleep(Math.max(0, startMs + order.atMs - performance.now()), undefined, { signal: end });
  await retryWhileUnavailable(() => sluice.withdraw(order.terms, { signal: end }), end);
}
