import { randomUUID } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { Landing, SignedStep } from '../domain/steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { createLanding, type LandingDeps } from '../settlement/land.ts';
import { retryLater } from '../settlement/state.ts';
import { serveOwed } from '../x402/obligation.ts';
import { discardAnswer } from '../x402/upstream.ts';
import type { UpstreamCall } from '../x402/upstream-call.ts';
import { withHeartbeat } from './heartbeat.ts';

const SERVE_CHECK_MS = 2_000;
const GIVE_UP_AFTER_MS = 86_400_000;
/** Only the buyer can take an answer that is too large, so the upstream is rarely called for it. */
const TOO_LARGE_RETRY_MS = 3_600_000;
/** No buyer is connected, so only an answer of this size can be kept for its buyer. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Activities that land an x402 payment and serve it afterwards. Each is idempotent. */
export function createX402Activities(deps: LandingDeps & { readonly upstream: UpstreamCall }) {
  const { ledger, upstream } = deps;
  const { obligations } = ledger;
  const landing = createLanding(deps);

  const isOwed = ({ id }: { readonly id: string }) => isBuyerOwed(ledger, id);

  return {
    isOwed,

    /** Lands the attempt as `landAttempt` does. Also returns whether the buyer must still be served. */
    async landPayment(attempt: SignedStep): Promise<{ readonly landing: Landing; readonly isOwed: boolean }> {
      return { landing: await landing.landAttempt(attempt), isOwed: await isOwed(attempt) };
    },

    /** Throws, so that Temporal retries, until the payment is no longer owed: here, or by the gateway. */
    async serveOwed({ id }: { readonly id: string }): Promise<void> {
      const payment = await ledger.payments.get(id);
      if (payment.state !== 'owed') return;
      const holder = `worker/${randomUUID()}`;
      const timeoutMs = (await obligations.requestOf(id))?.timeoutMs ?? 0;
      const bounds = { timeoutMs, maxBytes: MAX_ANSWER_BYTES, isStreamed: false };
      const outcome = await withHeartbeat(() =>
        serveOwed({ obligations, upstream, holder, bounds, canDeliver: false }, payment),
      );
      if (outcome.kind === 'taken')
        throw retryLater(
          'taken',
          `another process is serving payment ${id}, or has started to`,
          SERVE_CHECK_MS,
        );
      if (outcome.kind === 'owed') {
        const { reason, isTooLarge } = outcome;
        if (Date.now() - (payment.paidAt?.getTime() ?? 0) <= GIVE_UP_AFTER_MS)
          throw isTooLarge
            ? retryLater('answer_too_large', reason, TOO_LARGE_RETRY_MS)
            : new DomainError('Unavailable', reason);
        await obligations.markRefused(id, `not served within a day: ${reason}`, null);
      } else if (outcome.answer !== null) discardAnswer(outcome.answer);
    },
  };
}

/** True if a worker must serve the buyer. False for payments of the facilitator, whose caller serves the buyer. */
export async function isBuyerOwed({ payments }: Pick<Ledger, 'payments'>, id: string): Promise<boolean> {
  const payment = await payments.find(id);
  return payment?.state === 'owed' && payment.seller === 'gateway';
}

export type X402Activities = ReturnType<typeof createX402Activities>;
