import { randomUUID } from 'node:crypto';
import { DomainError } from '../domain/errors.ts';
import type { Landing, SignedStep } from '../domain/steps.ts';
import { createLanding, type LandingDeps } from '../settlement/land.ts';
import { notYet } from '../settlement/state.ts';
import { serveOwed } from '../x402/obligation.ts';
import type { UpstreamCall } from '../x402/upstream.ts';

const LOOK_MS = 2_000;
const GIVEN_UP_MS = 86_400_000;
/** No buyer is connected: an answer that cannot be stored is lost. */
const BOUNDS = { timeoutMs: 60_000, maxBytes: 16 * 1024 * 1024 };

/** Steps for payments beyond their settlement. Each is idempotent. */
export function createX402Activities(deps: LandingDeps & { readonly upstream: UpstreamCall }) {
  const { ledger, upstream } = deps;
  const { obligations } = ledger;
  const landing = createLanding(deps);

  /** False for facilitator payments, which the facilitator's caller serves. */
  async function isOwed({ id }: { readonly id: string }): Promise<boolean> {
    const payment = await ledger.payments.find(id);
    return payment?.state === 'owed' && payment.seller === 'gateway';
  }

  return {
    isOwed,

    /** Like `landAttempt`; also returns whether the buyer must still be served. */
    async landPayment(attempt: SignedStep): Promise<{ readonly landing: Landing; readonly isOwed: boolean }> {
      return { landing: await landing.landAttempt(attempt), isOwed: await isOwed(attempt) };
    },

    /** Fails, to be retried, until the obligation is served or refundable. */
    async serveOwed({ id }: { readonly id: string }): Promise<void> {
      const payment = await ledger.payments.get(id);
      const holder = `worker/${randomUUID()}`;
      const tried = await serveOwed({ obligations, upstream, holder, bounds: BOUNDS }, payment);
      if (tried.kind === 'taken')
        throw notYet('taken', 'another process serves it, or has begun to', LOOK_MS);
      if (tried.kind === 'owed') {
        if (Date.now() - (payment.paidAt?.getTime() ?? 0) <= GIVEN_UP_MS)
          throw new DomainError('Unavailable', tried.reason);
        await obligations.refused(id, `the upstream has not answered for a day: ${tried.reason}`, null);
      } else if (tried.answer?.kind === 'large') tried.answer.discard();
    },
  };
}

export type X402Activities = ReturnType<typeof createX402Activities>;
