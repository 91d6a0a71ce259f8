import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainError, isDomainError } from '../../domain/errors.ts';
import type { ObserveStage } from '../../domain/payment-stages.ts';
import { X402 } from '../../domain/settlement-kinds.ts';
import { isDatabaseUnavailable } from '../../ledger/connection.ts';
import type { AttemptRow, NewAttempt } from '../../ledger/settlements/attempts.ts';
import type { NewPayment } from '../../ledger/x402/payments.ts';
import { waitIfRowLost } from '../../settlement/land.ts';
import {
  createJudge,
  type JudgeDeps,
  type JudgedSettlement,
  settle,
} from '../../settlement/record-verdict.ts';
import { type SignHere, signLocally } from '../../settlement/signatures.ts';
import { signingTasksOf } from '../kind.ts';
import type { Reached } from '../purchase.ts';
import { secondsSince, timed } from '../timed.ts';
import type { DirectOutcome, SettleRequest } from './protocol.ts';

export interface DirectSettlementDeps extends JudgeDeps {
  /** Makes the attempt of a payment; see `adoptPayment`. */
  readonly adopt: (payment: NewPayment) => Promise<NewAttempt>;
  readonly sign: SignHere;
  /** Ends the count of the fee of an attempt whose signature is dropped. */
  readonly discard: (feePayer: string, attempt: NewAttempt) => void;
  readonly warn: (error: unknown, message: string) => void;
  readonly observe: ObserveStage;
}

const DATABASE_RETRY_MS = 2_000;

/**
 * Settles payments in this process: one transaction, one send, one watch. If this process stops, the payment is late, and
 * a workflow takes over: see `LatePayments`. The table of crash points is in docs/decisions/0025-direct-settlement.md.
 */
export class DirectSettlements {
  readonly #deps: DirectSettlementDeps;
  readonly #judge: ReturnType<typeof createJudge>;
  readonly #watches = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(deps: DirectSettlementDeps) {
    this.#deps = deps;
    this.#judge = createJudge(deps);
    // Each watch adds a listener.
    setMaxListeners(0, this.#closing.signal);
  }

  /**
   * Stores the payment with its signed attempt, sends it, and waits up to `withinMs` for `confirmed` or an end. An error
   * says nothing about what is stored: the caller must look the payment up.
   */
  async settle({ payment, withinMs, storeBefore }: SettleRequest): Promise<DirectOutcome> {
    const { ledger, observe } = this.#deps;
    if (this.#closing.signal.aborted) throw new DomainError('Unavailable', 'this x402 worker is stopping');
    const signed = await this.#signed(payment);
    if (signed === null)
      return { kind: 'declined', reason: `the transaction of ${payment.id} cannot be adopted` };
    if (Date.now() > storeBefore) {
      this.#deps.discard(payment.feePayer, signed);
      return { kind: 'declined', reason: 'the caller no longer waits' };
    }
    const opened = await timed(observe, 'record', () => ledger.payments.openSigned(payment, signed));
    if (opened.kind !== 'opened') this.#deps.discard(payment.feePayer, signed);
    if (opened.kind === 'stopped') return { kind: 'stopped' };
    if (opened.kind === 'taken')
      return {
        kind: 'declined',
        reason: `payment ${payment.id} is stored, or its request or identifier is taken`,
      };
    return { kind: 'settled', ...(await this.#reach(opened.attempt, withinMs)) };
  }

  /** Ends all watches. Workflows take over. */
  async close(): Promise<void> {
    this.#closing.abort(new DomainError('Unavailable', 'this x402 worker is stopping'));
    await Promise.allSettled(this.#watches);
  }

  /** Null if the message cannot be adopted. Nothing leaves this process. @throws SigningRefused */
  async #signed(payment: NewPayment): Promise<NewAttempt | null> {
    const { adopt, sign } = this.#deps;
    try {
      const attempt = await adopt(payment);
      return await signLocally(async ({ message }) => signingTasksOf(payment, message), attempt, sign);
    } catch (error) {
      if (isDomainError(error, 'InvalidRequest')) return null;
      throw error;
    }
  }

  /** Waits for `confirmed`, the end of the attempt, or `withinMs`. The watch continues afterwards. */
  async #reach(attempt: AttemptRow, withinMs: number): Promise<Reached> {
    const { settlementId: id, signature } = attempt;
    const timer = new AbortController();
    const late = sleep(withinMs, 'late', { signal: timer.signal });
    try {
      const end = await Promise.race([this.#confirmed(attempt), late]);
      if (end === 'confirmed') return { status: end, signature };
      const { status } = await this.#deps.ledger.settlements.get(id);
      return { status, signature };
    } finally {
      timer.abort();
      late.catch(() => undefined);
    }
  }

  /** Resolves at the first of `confirmed` and the end of the attempt. Begins the watch, which continues to the end. */
  #confirmed(attempt: AttemptRow): Promise<'confirmed' | 'ended'> {
    const begin = performance.now();
    return new Promise((resolve, reject) => {
      const confirm = () => {
        this.#deps.observe('confirmed', secondsSince(begin));
        resolve('confirmed');
      };
      const watch = this.#watch(attempt, confirm).then(
        () => resolve('ended'),
        (error: unknown) => {
          const { settlementId: id } = attempt;
          if (!this.#closing.signal.aborted)
            this.#deps.warn(error, `the watch of payment ${id} has ended: a workflow continues it`);
          reject(error);
        },
      );
      const tracked = watch.finally(() => this.#watches.delete(tracked));
      this.#watches.add(tracked);
    });
  }

  /**
   * Follows the attempt to its end, over outages of PostgreSQL too. If a failover has lost the attempt, pauses all payments
   * with an alert.
   */
  async #watch(opened: AttemptRow, onConfirmed: () => void): Promise<void> {
    const { ledger } = this.#deps;
    const { settlementId: id, n, signature } = opened;
    if (signature === null) throw new Error(`attempt ${n} of ${id} was stored without its signature`);
    const { signal } = this.#closing;
    for (let isFirst = true; ; isFirst = false)
      try {
        if (isFirst) return await this.#follow(opened, onConfirmed, SENDING);
        const stored = ledger.attempts.get(id, n);
        const attempt = await waitIfRowLost(ledger, { id, n, signature }, stored);
        return attempt.state === 'signed' ? await this.#follow(attempt, onConfirmed) : undefined;
      } catch (error) {
        if (!isDatabaseUnavailable(error) && !isDomainError(error, 'NotFound')) throw error;
        await sleep(DATABASE_RETRY_MS, undefined, { signal });
      }
  }

  /** Sends the attempt and follows it to its end, which is stored. Without a verdict, a workflow continues. */
  async #follow(
    attempt: AttemptRow,
    onConfirmed: () => void,
    stored?: Omit<JudgedSettlement, 'id'>,
  ): Promise<void> {
    const show = ({ status }: { readonly status: string }) => void (status === 'confirmed' && onConfirmed());
    const settlement = stored && { id: attempt.settlementId, ...stored };
    const judgement = await this.#judge(attempt, { begin: show, show }, this.#closing.signal, settlement);
    if (judgement !== null) await settle(this.#deps, attempt, judgement);
  }
}

/** The settlement of a payment that is stored with its signed attempt. */
const SENDING = { kind: X402, status: 'sending', reason: null } as const;
