import type { StoredAnswer } from '../../ledger/x402/obligations.ts';

/**
 * Methods that a route may have. The gateway answers HEAD with 405, because an upstream may run a GET for it, and OPTIONS itself. It
 * passes no other method on.
 */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

interface AnyRoute {
  /** Method and pattern, as `GET /reports/:id`: unique, and the same after every restart. */
  readonly id: string;
  readonly method: Method;
  /** Segments of the pattern: literal, `:name` for one segment, `*` at the end for the rest. */
  readonly segments: readonly string[];
  /** Base URL of the upstream; null where the route has an answer of its own. */
  readonly upstream: string | null;
  readonly answer: StoredAnswer | null;
}

/** A route that costs nothing. */
export interface FreeRoute extends AnyRoute {
  readonly kind: 'free';
}

/** A route that is sold. */
export interface PricedRoute extends AnyRoute {
  readonly kind: 'priced';
  /** Address of the mint. */
  readonly asset: string;
  /** Base units. */
  readonly amount: bigint;
  /**
   * The decimals by which the file's decimal price was converted: the mint must have the same, or the amount is wrong. Null where the
   * file gives base units.
   */
  readonly decimals: number | null;
  readonly payTo: string;
  readonly description: string;
  readonly mimeType: string;
  readonly flow: 'settle-first' | 'serve-first';
  /** Above this amount, in base units, the buyer is served once the payment is finalized; null: never. */
  readonly finalizedAbove: bigint | null;
  /** The gateway passes on larger answers and does not store them; null: 1 MiB. */
  readonly maxAnswerBytes: number | null;
  /** Whether the upstream may be asked twice for a method that is not idempotent. */
  readonly retryUnsafe: boolean;
  readonly paymentIdentifier: 'off' | 'optional' | 'required';
  readonly maxTimeoutSeconds: number;
  /** Text that the payment must carry; null: any. */
  readonly memo: string | null;
}

export type Route = FreeRoute | PricedRoute;
