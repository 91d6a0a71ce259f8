import { driveWhile, type Load } from '../load.ts';
import type { CallTally } from '../tally.ts';
import { type Costs, startCosts } from './costs.ts';
import type { Market, Seller } from './market.ts';
import { type PurchaseOutcome, type Purchasing, present, SERVED, startPaying } from './payments.ts';
import type { Phases } from './phases.ts';

/** One load on one seller, and its costs. */
export interface Turn {
  readonly seller: Seller['name'];
  readonly load: Load;
  readonly outcomes: CallTally;
  /** Served requests, and the seconds in which they were answered. */
  readonly rate: { readonly served: number; readonly seconds: number };
  /** Until the last answer. */
  readonly untilAnswer: Costs;
  /** Until every payment is finalized and nothing remains to do for any. */
  readonly untilFinal: Costs;
  readonly phases: Phases | null;
}

/** A number of requests, or a load that is measured for `seconds` after a lead of `leadSeconds`. */
export type Length = { readonly count: number } | { readonly seconds: number; readonly leadSeconds: number };

interface PaidAnswer {
  readonly outcome: PurchaseOutcome;
  /** Milliseconds since the start of the turn. */
  readonly atMs: number;
}

export async function takeTurn(
  market: Market,
  seller: Seller,
  shopping: Pick<Purchasing, 'buyers' | 'targets'>,
  inFlight: number,
  length: Length,
): Promise<Turn> {
  const next = await startPaying({ ...shopping, sellerUrl: seller.url, nodeUrl: market.nodeUrl });
  const costs = startCosts(market, seller);
  const since = new Date();
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const answers: PaidAnswer[] = [];
  const isNext = (index: number) =>
    'count' in length ? index < length.count : elapsedMs() < 1_000 * (length.leadSeconds + length.seconds);
  const load = await driveWhile(isNext, inFlight, async (index) => {
    const outcome = await present(await next(index));
    answers.push({ outcome, atMs: elapsedMs() });
  });
  const untilAnswer = costs();
  await seller.settled();
  return {
    seller: seller.name,
    load,
    outcomes: tallyOf(answers),
    rate: rateOf(answers, length, load),
    untilAnswer,
    untilFinal: costs(),
    phases: await seller.phases(since),
  };
}

function tallyOf(answers: readonly PaidAnswer[]): CallTally {
  const counts: Record<string, number> = {};
  for (const { outcome } of answers) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Of a sustained load, only the seconds after its lead count, without ramp and drain. */
function rateOf(answers: readonly PaidAnswer[], length: Length, { seconds }: Load): Turn['rate'] {
  const served = answers.filter(({ outcome }) => outcome === SERVED);
  if ('count' in length) return { served: served.length, seconds };
  const [from, to] = [1_000 * length.leadSeconds, 1_000 * (length.leadSeconds + length.seconds)];
  const inTime = served.filter(({ atMs }) => atMs >= from && atMs < to);
  return { served: inTime.length, seconds: length.seconds };
}
