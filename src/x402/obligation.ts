import type { BoughtRequest, Obligations } from '../ledger/x402/obligations.ts';
import { paymentHeaders } from './routes/headers.ts';
import type { UpstreamAnswer, UpstreamAsker, UpstreamOptions, UpstreamRequest } from './upstream.ts';

export type { UpstreamAsker } from './upstream.ts';

export interface ObligationDeps {
  readonly obligations: Pick<Obligations, 'take' | 'giveBack' | 'served' | 'refused'>;
  readonly upstream: UpstreamAsker;
  /** Owner of the lease, unique for each process and request. */
  readonly holder: string;
  /** Default: 60 s, and {@link MAX_ANSWER_BYTES}. */
  readonly bounds?: UpstreamOptions;
}

/** Result of a try to serve a paid request. `taken`: another holder has the lease, or it is not owed. */
export type Served =
  | { readonly kind: 'taken' }
  | {
      readonly kind: 'answered';
      readonly state: 'served' | 'refundable';
      readonly reason: string;
      readonly answer: Exclude<UpstreamAnswer, { kind: 'none' }>;
    }
  /** The upstream may have executed the request already, and must not be called again. */
  | { readonly kind: 'refundable'; readonly reason: string }
  | { readonly kind: 'unanswered'; readonly reason: string };

/** Larger responses are streamed and not stored. */
export const MAX_ANSWER_BYTES = 1024 * 1024;
const DEFAULT_BOUNDS: UpstreamOptions = { timeoutMs: 60_000, maxBytes: MAX_ANSWER_BYTES };
/** Added to the timeout of a try, so that no other holder begins during it. */
const LEASE_MARGIN_MS = 15_000;

/**
 * Calls the upstream for a paid request, and stores the result before it is returned. A lease permits one holder at a
 * time. 2xx and 3xx serve; 4xx makes the payment refundable; any other result leaves it owed.
 */
export async function serveOwed(deps: ObligationDeps, id: string): Promise<Served> {
  const { obligations, upstream, holder, bounds = DEFAULT_BOUNDS } = deps;
  const taken = await obligations.take(id, { holder, ms: bounds.timeoutMs + LEASE_MARGIN_MS });
  if (taken === null) return { kind: 'taken' };
  const { request, again } = taken;
  if (again && !request.isRepeatable) {
    const reason = `the upstream may have got this ${request.method} before, and its route does not allow it twice`;
    await obligations.refused(id, reason, null);
    return { kind: 'refundable', reason };
  }
  const answer = await upstream(askedOf(request, id), bounds);
  if (answer.kind === 'none' || statusOf(answer) >= 500) {
    await obligations.giveBack(id, holder);
    const reason = answer.kind === 'none' ? answer.reason : `the upstream answered ${statusOf(answer)}`;
    return { kind: 'unanswered', reason };
  }
  const reason = `the upstream answered ${statusOf(answer)}`;
  const state = await record(obligations, id, answer, reason);
  return { kind: 'answered', state, reason, answer };
}

/** The upstream request. By its Idempotency-Key, equal for each try, the upstream can recognise a repeated request. */
export function askedOf({ method, url, headers, body }: BoughtRequest, id: string): UpstreamRequest {
  const named = { ...headers, ...paymentHeaders(id) };
  return { method, url, headers: named, body: Buffer.from(body, 'base64') };
}

async function record(
  obligations: ObligationDeps['obligations'],
  id: string,
  answer: Exclude<UpstreamAnswer, { kind: 'none' }>,
  reason: string,
): Promise<'served' | 'refundable'> {
  const status = statusOf(answer);
  const kept = answer.kind === 'whole' ? answer.answer : null;
  if (status < 400) await obligations.served(id, status, kept);
  else await obligations.refused(id, reason, kept);
  return status < 400 ? 'served' : 'refundable';
}

function statusOf(answer: Exclude<UpstreamAnswer, { kind: 'none' }>): number {
  return answer.kind === 'whole' ? answer.answer.status : answer.status;
}
