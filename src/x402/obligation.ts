import type { BoughtRequest, Obligations } from '../ledger/x402/obligations.ts';
import type { PaymentRow } from '../ledger/x402/payments.ts';
import {
  discardAnswer,
  forwardableRefusal,
  reasonOf,
  retryAfterOf,
  storableAnswer,
  type UpstreamOptions,
  type UpstreamResponse,
  verdictOf,
} from './upstream.ts';
import type { PaidRequest, UpstreamCall } from './upstream-call.ts';

interface ObligationDeps {
  readonly obligations: Pick<Obligations, 'take' | 'release' | 'markServed' | 'markRefused'>;
  readonly upstream: UpstreamCall;
  /** Owner of the lease, unique for each process and request. */
  readonly holder: string;
  /**
   * A repeatable request whose payment was stored with a lease of `holder` that still lasts longer than the call: the
   * call is not noted in the database before it begins. Default: the lease is taken.
   */
  readonly leased?: BoughtRequest | undefined;
  readonly bounds: UpstreamOptions;
  /** True if the buyer is connected, so that an answer that is too large to be stored can be delivered. */
  readonly canDeliver: boolean;
}

/**
 * Result of one try to serve a payment. `answer`: the upstream's response; null if a response was already stored, or if
 * the upstream was not called. `retryAfter`: that of the upstream. `isTooLarge`: the upstream answered, but only its buyer
 * can take the answer. `taken`: another holder has the lease, or the payment is not owed.
 */
export type ServeResult =
  | { readonly kind: 'served'; readonly answer: UpstreamResponse | null }
  | { readonly kind: 'refundable'; readonly reason: string; readonly answer: UpstreamResponse | null }
  | {
      readonly kind: 'owed';
      readonly reason: string;
      readonly retryAfter: string | null;
      readonly isTooLarge: boolean;
    }
  | { readonly kind: 'taken' };

/** The columns that a try to serve a payment needs. */
type ServedColumns = PaidRequest['payment'] & Pick<PaymentRow, 'isAnswered' | 'answerStatus'>;

/** The lease exceeds the upstream timeout by this much, so that no other holder begins while the try still runs. */
const LEASE_MARGIN_MS = 15_000;

/**
 * Calls the upstream for a paid request, and stores the result before returning. A lease permits one holder at a time.
 * `verdictOf` decides between served, refundable and owed; without a response the payment stays owed.
 */
export async function serveOwed(deps: ObligationDeps, payment: ServedColumns): Promise<ServeResult> {
  const { obligations, upstream, holder, bounds, canDeliver, leased } = deps;
  const { id, isAnswered, answerStatus } = payment;
  if (isAnswered) {
    await obligations.markServed(id, answerStatus ?? 200, null);
    return { kind: 'served', answer: null };
  }
  const claimed = leased
    ? { request: leased, again: false }
    : await obligations.take(id, { holder, ms: bounds.timeoutMs + LEASE_MARGIN_MS });
  if (claimed === null) return { kind: 'taken' };
  const { request, again } = claimed;
  if (again && !request.isRepeatable) {
    const reason = `the upstream may already have received this ${request.method}, and the route does not allow a repetition (retryUnsafe)`;
    await obligations.markRefused(id, reason, null);
    return { kind: 'refundable', reason, answer: null };
  }
  const answer = await upstream({ request, payment, isPaid: true }, bounds);
  const reason = reasonOf(answer);
  const verdict = answer.kind === 'none' ? 'owed' : verdictOf(answer.status);
  if (answer.kind === 'none' || verdict === 'owed') {
    if (answer.kind !== 'none') discardAnswer(answer);
    await obligations.release(id, holder);
    return { kind: 'owed', reason, retryAfter: retryAfterOf(answer), isTooLarge: false };
  }
  if (verdict === 'refundable') {
    const refusal = forwardableRefusal(answer);
    await obligations.markRefused(id, reason, refusal && storableAnswer(refusal));
    return { kind: 'refundable', reason, answer: refusal };
  }
  if (answer.kind === 'streamed' && !canDeliver) {
    answer.discard();
    return leaveToBuyer(deps, payment, request);
  }
  await obligations.markServed(id, answer.status, storableAnswer(answer));
  return { kind: 'served', answer };
}

/** Leaves the payment owed, because a request of its buyer can deliver the answer. If that must not call the upstream: refundable. */
async function leaveToBuyer(
  { obligations, holder }: ObligationDeps,
  { id }: ServedColumns,
  { isRepeatable }: BoughtRequest,
): Promise<ServeResult> {
  const reason = 'the answer is too large to be stored, and its buyer was not connected';
  if (isRepeatable) {
    await obligations.release(id, holder);
    return { kind: 'owed', reason, retryAfter: null, isTooLarge: true };
  }
  await obligations.markRefused(id, reason, null);
  return { kind: 'refundable', reason, answer: null };
}
