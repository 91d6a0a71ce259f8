import type { BoughtRequest, Obligations } from '../ledger/x402/obligations.ts';
import { paymentHeaders } from './routes/headers.ts';
import type { UpstreamAnswer, UpstreamAsker, UpstreamOptions, UpstreamRequest } from './upstream.ts';

export type { UpstreamAsker } from './upstream.ts';

export interface ObligationDeps {
  readonly obligations: Pick<Obligations, 'take' | 'giveBack' | 'served' | 'refused'>;
  readonly upstream: UpstreamAsker;
  /** Who serves: no two processes, and no two requests of one, have the same. */
  readonly holder: string;
  /** Default: 60 s, and {@link MAX_ANSWER_BYTES}. */
  readonly bounds?: UpstreamOptions;
}

/** How a try to serve what is paid ended. `taken`: somebody else has it, or it is not owed. */
export type Served =
  | { readonly kind: 'taken' }
  | {
      readonly kind: 'answered';
      readonly state: 'served' | 'refundable';
      readonly reason: string;
      readonly answer: Exclude<UpstreamAnswer, { kind: 'none' }>;
    }
  /** The upstream may not be asked again, as it may have done before what it was asked. */
  | { readonly kind: 'refundable'; readonly reason: string }
  | { readonly kind: 'unanswered'; readonly reason: string };

/** An answer that is larger is passed on, and not kept. */
export const MAX_ANSWER_BYTES = 1024 * 1024;
const DEFAULT_BOUNDS: UpstreamOptions = { timeoutMs: 60_000, maxBytes: MAX_ANSWER_BYTES };
/** More than a try lasts, so that nobody else begins while it goes on. */
const LEASE_MARGIN_MS = 15_000;

/**
 * Asks the upstream for what a payment has bought, and puts on record what came of it before anybody gets the answer. One holder at a
 * time does so, by a lease that ends by itself. 2xx and 3xx serve; 4xx ends the obligation as refundable; all else leaves it owed.
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

/** The question of a bought request: the upstream may know by the Idempotency-Key that it was asked before. */
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
