import type { BoughtRequest, Obligations } from '../ledger/x402/obligations.ts';
import type { PaymentRow } from '../ledger/x402/payments.ts';
import { paymentHeaders } from './routes/headers.ts';
import {
  storable,
  type UpstreamAsker,
  type UpstreamOptions,
  type UpstreamRequest,
  type UpstreamResponse,
} from './upstream.ts';

interface ObligationDeps {
  readonly obligations: Pick<Obligations, 'take' | 'release' | 'markServed' | 'markRefused'>;
  readonly upstream: UpstreamAsker;
  /** Owner of the lease, unique for each process and request. */
  readonly holder: string;
  readonly bounds: UpstreamOptions;
}

/**
 * The payment's state after a try to serve it. `answer`: the upstream's response; null if it was stored before the try,
 * or if the upstream was not called. `taken`: another holder has the lease, or the payment is not owed.
 */
export type Served =
  | { readonly kind: 'served'; readonly answer: UpstreamResponse | null }
  | { readonly kind: 'refundable'; readonly reason: string; readonly answer: UpstreamResponse | null }
  | { readonly kind: 'owed'; readonly reason: string }
  | { readonly kind: 'taken' };

/** Added to the timeout of a try, so that no other holder begins during it. */
const LEASE_MARGIN_MS = 15_000;

/**
 * Calls the upstream for a paid request, and stores the result before it is returned. A lease permits one holder at a
 * time. 2xx and 3xx serve; 4xx makes the payment refundable; any other result leaves it owed.
 */
export async function serveOwed(deps: ObligationDeps, payment: PaymentRow): Promise<Served> {
  const { obligations, upstream, holder, bounds } = deps;
  const { id, isAnswered, answerStatus } = payment;
  if (isAnswered) {
    await obligations.markServed(id, answerStatus ?? 200, null);
    return { kind: 'served', answer: null };
  }
  const taken = await obligations.take(id, { holder, ms: bounds.timeoutMs + LEASE_MARGIN_MS });
  if (taken === null) return { kind: 'taken' };
  const { request, again } = taken;
  if (again && !request.isRepeatable) {
    const reason = `the upstream may have got this ${request.method} before, and its route does not allow it twice`;
    await obligations.markRefused(id, reason, null);
    return { kind: 'refundable', reason, answer: null };
  }
  const answer = await upstream(upstreamRequest(request, id), bounds);
  const reason = answer.kind === 'none' ? answer.reason : `the upstream answered ${answer.status}`;
  if (answer.kind === 'none' || answer.status >= 500) {
    await obligations.release(id, holder);
    return { kind: 'owed', reason };
  }
  if (answer.status >= 400) {
    await obligations.markRefused(id, reason, storable(answer));
    return { kind: 'refundable', reason, answer };
  }
  await obligations.markServed(id, answer.status, storable(answer));
  return { kind: 'served', answer };
}

/** The upstream request. By its Idempotency-Key, equal for each try, the upstream can recognise a repeated request. */
export function upstreamRequest({ method, url, headers, body }: BoughtRequest, id: string): UpstreamRequest {
  const named = { ...headers, ...paymentHeaders(id) };
  return { method, url, headers: named, body: Buffer.from(body, 'base64') };
}
