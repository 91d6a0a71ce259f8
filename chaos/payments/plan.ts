import fc from 'fast-check';
import type { PaymentForm } from '../../devkit/localstack/buyer.ts';

/** One purchase: each buyer wants an item of its own. */
export interface PlannedPurchase {
  readonly item: number;
  /** When the buyer comes, in milliseconds after the start. */
  readonly atMs: number;
  readonly form: PaymentForm;
  /** The buyer cuts the first request so long after sending it; null: the buyer waits for the answer. */
  readonly hangUpMs: number | null;
  /** The buyer shows an Authorization header of its own with each request. */
  readonly authorized: boolean;
  /** So many requests for the item get 503 from the upstream first. */
  readonly refusals: number;
  /** The upstream waits so long before each answer for the item. */
  readonly slowMs: number;
}

export interface PurchasePlan {
  readonly seed: number;
  readonly payments: number;
  readonly minutes: number;
}

const DEMAND_SHARE = 0.95;
const FORMS = ['v2', 'v2', 'v1', 'example'] as const;

/** The purchases of a run, evenly over it: the same plan gives the same purchases. */
export function drawPurchases({ seed, payments, minutes }: PurchasePlan): readonly PlannedPurchase[] {
  const stepMs = (minutes * 60_000 * DEMAND_SHARE) / payments;
  const drawn = fc.sample(choices, { seed, numRuns: payments, unbiased: true });
  return drawn.map((one, item) => ({ ...one, item, atMs: Math.round(item * stepMs) }));
}

const choices = fc.record({
  form: fc.constantFrom<PaymentForm>(...FORMS),
  hangUpMs: oneIn(5, fc.integer({ min: 5, max: 800 }), null),
  authorized: fc.boolean(),
  refusals: oneIn(6, fc.integer({ min: 1, max: 3 }), 0),
  slowMs: oneIn(8, fc.integer({ min: 500, max: 4_000 }), 0),
});

function oneIn<T, U>(times: number, some: fc.Arbitrary<T>, none: U): fc.Arbitrary<T | U> {
  return fc.oneof({ arbitrary: some, weight: 1 }, { arbitrary: fc.constant(none), weight: times - 1 });
}
