import { randomUUID } from 'node:crypto';
import type { Ledger } from '../ledger/ledger.ts';
import { notYet } from '../settlement/not-yet.ts';
import { serveOwed, type UpstreamAsker } from '../x402/obligation.ts';

const LOOK_MS = 2_000;

export interface X402Deps {
  readonly ledger: Pick<Ledger, 'payments' | 'obligations'>;
  readonly upstream: UpstreamAsker;
}

/** What a payment of x402 has beside its settlement. Each step may be repeated at will. */
export function createX402Activities({ ledger, upstream }: X402Deps) {
  const holder = `worker/${randomUUID()}`;
  return {
    async isOwed({ id }: { readonly id: string }): Promise<boolean> {
      const payment = await ledger.payments.find(id);
      return payment?.state === 'owed' && payment.seller === 'gateway';
    },

    /**
     * Returns when the obligation has ended: served, or refundable. Until then it fails, to be tried again: another process serves it, or
     * the upstream gives no answer.
     */
    async serveOwed({ id }: { readonly id: string }): Promise<void> {
      const outcome = await serveOwed({ obligations: ledger.obligations, upstream, holder }, id);
      if (outcome.kind === 'taken')
        throw notYet('taken', 'another process serves it, or has begun to', LOOK_MS);
      if (outcome.kind === 'unanswered') throw notYet('unanswered', outcome.why, LOOK_MS);
    },
  };
}

export type X402Activities = ReturnType<typeof createX402Activities>;
