import fc from 'fast-check';

/** What a deposit is paid in: `token` and `feeToken` are listed mints, of which the second withholds a part of each transfer. */
export type Coin = 'SOL' | 'token' | 'feeToken';

/** What one user is to have of a payment, in base units as they are sent. */
export interface Leg {
  readonly user: number;
  readonly coin: Coin;
  readonly amount: bigint;
}

/** Kinds of transfers that look like a deposit but must not be credited. */
export const FAKES = ['failed', 'below-minimum', 'unknown-mint', 'other-account'] as const;

export type Fake = (typeof FAKES)[number];

/** One transaction, to be made `atMs` after the start. A fake has one leg, which must not be credited. */
export interface PlannedDeposit {
  readonly atMs: number;
  readonly legs: readonly Leg[];
  readonly fake: Fake | null;
}

export interface DepositPlan {
  readonly seed: number;
  /** Legs that are to be credited. */
  readonly deposits: number;
  readonly minutes: number;
  /** Moments at which a new user must come in and pay, in milliseconds after the start. */
  readonly newcomersAtMs: readonly number[];
}

/** The minimum deposit of `token`. */
export const TOKEN_MINIMUM = 1_000n;

const DEMAND_SHARE = 0.8;
const DEPOSITS_OF_A_USER = 10;
const DEPOSITS_FOR_A_FAKE = 10;
const COINS: readonly Coin[] = ['SOL', 'token', 'feeToken'];

/**
 * Users come in all through the run and pay about ten times each; every sixth transaction pays two or three of them at once, and
 * every kind of fake occurs.
 */
export function drawDeposits(plan: DepositPlan): readonly PlannedDeposit[] {
  const newcomers = plan.newcomersAtMs.slice(0, plan.deposits);
  const known = plan.deposits - newcomers.length;
  const users = Math.ceil(known / DEPOSITS_OF_A_USER);
  const spanMs = plan.minutes * 60_000 * DEMAND_SHARE;
  const draws = fc.sample(fc.nat({ max: 999_999 }), {
    seed: plan.seed,
    numRuns: plan.deposits,
    unbiased: true,
  });
  const legs = draws.slice(0, known).map((draw, index) => {
    const present = Math.min(users, 1 + Math.floor((index * users) / known));
    return { atMs: Math.round((index * spanMs) / known), leg: legOf((draw + index) % present, draw) };
  });
  return [
    ...inTransactions(legs),
    ...newcomers.map((atMs, index) => ({
      atMs,
      legs: [legOf(users + index, draws[known + index] ?? 0)],
      fake: null,
    })),
    ...fakes(legs),
  ].toSorted((a, b) => a.atMs - b.atMs);
}

interface Timed {
  readonly atMs: number;
  readonly leg: Leg;
}

function legOf(user: number, draw: number): Leg {
  return { user, coin: COINS[draw % COINS.length] ?? 'SOL', amount: BigInt(1_000_000 + draw) };
}

function inTransactions(legs: readonly Timed[]): readonly PlannedDeposit[] {
  const payments: PlannedDeposit[] = [];
  for (let at = 0; at < legs.length; ) {
    const number = payments.length;
    const take = number % 6 === 5 ? 2 + (Math.floor(number / 6) % 2) : 1;
    const group = legs.slice(at, at + take);
    const atMs = group[0]?.atMs ?? 0;
    // One account gets one credit of a transaction, however often it is paid in it: so each leg has an account of its own.
    const apart = group.filter(
      ({ leg }, index) => group.findIndex((one) => isOneAccount(one.leg, leg)) === index,
    );
    const repeated = group.filter((one) => !apart.includes(one));
    payments.push({ atMs, legs: apart.map(({ leg }) => leg), fake: null });
    for (const { leg } of repeated) payments.push({ atMs, legs: [leg], fake: null });
    at += take;
  }
  return payments;
}

function isOneAccount(a: Leg, b: Leg): boolean {
  return a.user === b.user && a.coin === b.coin;
}

function fakes(legs: readonly Timed[]): readonly PlannedDeposit[] {
  const count = legs.length === 0 ? 0 : Math.max(FAKES.length, Math.floor(legs.length / DEPOSITS_FOR_A_FAKE));
  return Array.from({ length: count }, (_, index) => {
    const { atMs = 0, leg } = legs[Math.floor((index * legs.length) / count)] ?? {};
    const fake = FAKES[index % FAKES.length] ?? 'failed';
    const amount = fake === 'below-minimum' ? TOKEN_MINIMUM - 1n : BigInt(2_000_000 + index);
    const coin = fake === 'failed' ? 'SOL' : 'token';
    return { atMs, legs: [{ user: leg?.user ?? 0, coin, amount }], fake };
  });
}
