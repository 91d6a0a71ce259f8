import fc from 'fast-check';
import type { PaymentForm } from '../../devkit/localstack/buyer.ts';

/**
 * How an item is sold. `shared`: one wallet buys one target several times at once. `post-once`: the route forbids a
 * repetition of its POST. `facilitator`: another seller settles the payment, by `/facilitator/settle`. `pass`: the answer
 * has an access pass; so has that of `serve-first`.
 */
export const FLOWS = [
  'get',
  'shared',
  'post',
  'post-once',
  'stream',
  'serve-first',
  'pass',
  'facilitator',
] as const;
export type Flow = (typeof FLOWS)[number];

/** Flows whose routes have access passes. */
export const PASS_FLOWS: ReadonlySet<Flow> = new Set(['serve-first', 'pass']);

/**
 * How a buyer asks for more without a payment: with its access pass (in the header of its own or as a bearer token), by a
 * signature of its wallet, with a forged pass, or by a signature of a wallet that has not paid.
 */
export const ACCESSES = ['pass', 'bearer', 'sign-in', 'forged', 'stranger'] as const;
export type AccessKind = (typeof ACCESSES)[number];

/** The two that must never be served. */
export function isForbidden(access: AccessKind): boolean {
  return access === 'forged' || access === 'stranger';
}

/** One purchase of one buyer. All buyers have the same wallet. */
export interface PlannedPurchase {
  readonly item: number;
  /** The content that is bought. An item of its own, except in the flow `shared`. */
  readonly subject: string;
  readonly flow: Flow;
  /** When the buyer comes, in milliseconds after the start. */
  readonly atMs: number;
  readonly form: PaymentForm;
  /** The payment has a payment identifier (version 2), or the facilitator's caller sends an Idempotency-Key. */
  readonly identified: boolean;
  /** The buyer cuts the first request so long after sending it; null: the buyer waits for the answer. */
  readonly hangUpMs: number | null;
  /** The buyer sends an Authorization header of its own with each request. */
  readonly authorized: boolean;
  /** How the buyer asks for more after its purchase; null: it does not, or its route has no access passes. */
  readonly access: AccessKind | null;
  /** So many requests for the subject get 503 from the upstream first. */
  readonly refusals: number;
  /** The upstream waits so long before each answer for the subject. */
  readonly slowMs: number;
}

export interface PurchasePlan {
  readonly seed: number;
  readonly payments: number;
  readonly minutes: number;
}

const DEMAND_SHARE = 0.95;
const FORMS = ['v2', 'v2', 'v1', 'example', 'submitted'] as const;
/** So many buyers buy one target at once. */
const SHARED_BY = 6;

/** The purchases of a run, evenly over it: the same plan gives the same purchases. */
export function drawPurchases({ seed, payments, minutes }: PurchasePlan): readonly PlannedPurchase[] {
  const stepMs = (minutes * 60_000 * DEMAND_SHARE) / payments;
  const drawn = fc.sample(choices, { seed, numRuns: payments, unbiased: true });
  const purchases: PlannedPurchase[] = [];
  const sharing: PlannedPurchase[] = [];
  for (const [item, one] of drawn.entries()) {
    const own = { ...permitted(one), item, subject: String(item), atMs: Math.round(item * stepMs) };
    const first = sharing[sharing.length - (sharing.length % SHARED_BY)];
    const isJoining = one.flow === 'shared' && first !== undefined;
    const purchase = isJoining ? { ...own, subject: first.subject, atMs: first.atMs } : own;
    if (one.flow === 'shared') sharing.push(purchase);
    purchases.push(purchase);
  }
  return purchases;
}

type Choices = Omit<PlannedPurchase, 'item' | 'subject' | 'atMs'>;

/**
 * The facilitator takes versions 1 and 2 only. Its caller without an Idempotency-Key must wait: the success of a caller
 * that hangs up is lost, because the key alone identifies the caller.
 */
function permitted(drawn: Choices): Choices {
  if (drawn.flow !== 'facilitator')
    return { ...drawn, access: PASS_FLOWS.has(drawn.flow) ? drawn.access : null };
  const form = drawn.form === 'v1' ? 'v1' : 'v2';
  return { ...drawn, form, access: null, hangUpMs: drawn.identified ? drawn.hangUpMs : null };
}

const choices: fc.Arbitrary<Choices> = fc.record({
  flow: fc.constantFrom<Flow>(...FLOWS),
  form: fc.constantFrom<PaymentForm>(...FORMS),
  identified: fc.boolean(),
  hangUpMs: oneIn(5, fc.integer({ min: 5, max: 800 }), null),
  authorized: fc.boolean(),
  access: fc.constantFrom(null, ...ACCESSES),
  refusals: oneIn(6, fc.integer({ min: 1, max: 3 }), 0),
  slowMs: oneIn(8, fc.integer({ min: 500, max: 4_000 }), 0),
});

function oneIn<T, U>(times: number, some: fc.Arbitrary<T>, none: U): fc.Arbitrary<T | U> {
  return fc.oneof({ arbitrary: some, weight: 1 }, { arbitrary: fc.constant(none), weight: times - 1 });
}
