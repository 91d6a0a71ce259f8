import type { NewPayment } from '../../ledger/x402/payments.ts';
import { Pool } from '../../shims/undici.ts';
import { type DirectOutcome, readOutcome, SETTLE_PATH, writeSettleRequest } from './protocol.ts';

/** Calls the x402 worker. See {@link DirectClient}. */
export interface DirectSettlement {
  settle(payment: NewPayment): Promise<DirectOutcome>;
}

/** After this time the worker answers with the status so far, and the workflow is asked instead. */
const WITHIN_MS = 5_000;
/** For the way through a worker that is busy. */
const MARGIN_MS = 1_000;
const KEEP_ALIVE_MS = 30_000;
const CALL_FAILED = { kind: 'declined', reason: 'the call failed' } as const;

/** The x402 worker behind its socket. */
export class DirectClient implements DirectSettlement {
  readonly #pool: Pool;
  readonly #warn: (error: unknown, message: string) => void;
  /** True after a call without a response, so that an outage is logged once. */
  #isDown = false;

  constructor(socketPath: string, warn: (error: unknown, message: string) => void) {
    this.#pool = new Pool('http://x402-worker', { socketPath, keepAliveTimeout: KEEP_ALIVE_MS });
    this.#warn = warn;
  }

  /** Never throws. `declined` also if the call fails: the worker may then have stored the payment. */
  async settle(payment: NewPayment): Promise<DirectOutcome> {
    const response = await this.#call(payment);
    if (response === null) return CALL_FAILED;
    const { statusCode, body } = response;
    try {
      const answer: unknown = await body.json();
      if (statusCode === 200) return readOutcome(answer);
      throw new Error(`the x402 worker answered ${statusCode}: ${JSON.stringify(answer)}`);
    } catch (error) {
      const message = `the x402 worker did not settle payment ${payment.id} (${statusCode}): its workflow settles it`;
      this.#warn(error, message);
      return CALL_FAILED;
    }
  }

  /** Null if there is no response. */
  async #call(payment: NewPayment): Promise<Awaited<ReturnType<Pool['request']>> | null> {
    try {
      const response = await this.#pool.request({
        path: SETTLE_PATH,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: writeSettleRequest({ payment, withinMs: WITHIN_MS, storeBefore: Date.now() + WITHIN_MS }),
        signal: AbortSignal.timeout(WITHIN_MS + MARGIN_MS),
      });
      this.#isDown = false;
      return response;
    } catch (error) {
      if (!this.#isDown)
        this.#warn(error, 'the x402 worker cannot settle directly: workflows settle payments until it can');
      this.#isDown = true;
      return null;
    }
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
