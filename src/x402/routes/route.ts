import type { StoredAnswer } from '../../ledger/x402/obligations.ts';

/**
 * Methods that a route may have. The gateway responds to HEAD with 405, because an upstream may execute it as GET,
 * and handles OPTIONS itself. It forwards no other method.
 */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

interface AnyRoute {
  /** Method and pattern, such as `GET /reports/:id`: unique, and unchanged by restarts. */
  readonly id: string;
  readonly method: Method;
  /** Segments of the pattern: a literal, `:name` for one segment, `*` at the end for the rest. */
  readonly segments: readonly string[];
  /** Base URL of the upstream; null if the route has a static response. */
  readonly upstream: string | null;
  readonly answer: StoredAnswer | null;
}

export interface FreeRoute extends AnyRoute {
  readonly kind: 'free';
}

export interface PricedRoute extends AnyRoute {
  readonly kind: 'priced';
  readonly asset: string;
  /** Base units. */
  readonly amount: bigint;
  /** Decimals of the converted price: the mint must have the same. Null for a price in base units. */
  readonly decimals: number | null;
  readonly payTo: string;
  readonly description: string;
  readonly mimeType: string;
  readonly flow: 'settle-first' | 'serve-first';
  /** Above this amount (base units) the gateway serves only after finalization; null: never. */
  readonly finalizedAbove: bigint | null;
  /** Larger responses are streamed and not stored; null: 1 MiB. */
  readonly maxAnswerBytes: number | null;
  /** Whether a request with a non-idempotent method may be sent to the upstream twice. */
  readonly retryUnsafe: boolean;
  readonly paymentIdentifier: 'off' | 'optional' | 'required';
  readonly maxTimeoutSeconds: number;
  /** The memo that the payment must contain; null: any. */
  readonly memo: string | null;
}

export type Route = FreeRoute | PricedRoute;
