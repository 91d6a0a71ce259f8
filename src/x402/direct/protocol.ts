import { z } from 'zod';
import { SETTLEMENT_STATUSES } from '../../domain/settlement.ts';
import { toJson } from '../../ledger/database.ts';
import type { NewPayment } from '../../ledger/x402/payments.ts';
import type { Reached } from '../purchase.ts';

export const SETTLE_PATH = '/settle';

export interface SettleRequest {
  readonly payment: NewPayment;
  /** Maximum wait for `confirmed`, in ms. */
  readonly withinMs: number;
  /**
   * Time in ms since the epoch after which the payment must not be stored: the caller, which is on this machine, has
   * given up. Its buyer may then have been asked for another payment.
   */
  readonly storeBefore: number;
}

/**
 * Answer of the x402 worker. `settled`: payment and attempt are stored, and the attempt is sent; the status can still be
 * `sending`. `stopped`: nothing is stored, because of a pause, a restored database or an alert. `declined`: the worker
 * has stored nothing, and the payment may be stored already.
 */
export type DirectOutcome =
  | ({ readonly kind: 'settled' } & Reached)
  | { readonly kind: 'stopped' }
  | { readonly kind: 'declined'; readonly reason: string };

const decimal = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt);
const textOrNull = z.string().nullable();
const texts = z.record(z.string(), z.string());

const terms = z.strictObject({
  network: z.string(),
  asset: z.string(),
  tokenProgram: z.string(),
  decimals: z.int(),
  amount: z.string(),
  payTo: z.string(),
  tokenAccount: z.string(),
  memo: textOrNull,
});

const caller = z.strictObject({
  identifier: textOrNull,
  authorization: textOrNull,
  cookie: textOrNull,
  address: textOrNull,
});

const request = z.strictObject({
  method: z.string(),
  url: z.string(),
  headers: texts,
  routeHeaders: z.record(z.string(), z.union([z.string(), z.strictObject({ env: z.string() })])),
  body: z.string(),
  isRepeatable: z.boolean(),
  timeoutMs: z.int(),
});

const answer = z.strictObject({
  status: z.int(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string(),
});

// `satisfies`: the worker would refuse a field that is missing here.
const payment = z.strictObject({
  id: z.string(),
  seller: z.enum(['gateway', 'facilitator']),
  // Buyers of the other dialects sign everything, so there is nothing for the worker to sign.
  dialect: z.enum(['v1', 'v2']),
  payer: z.string(),
  sourceAccount: textOrNull,
  feePayer: z.string(),
  feeLamports: decimal,
  computeUnitLimit: z.int(),
  computeUnitPriceMicroLamports: decimal,
  terms,
  wire: z.string(),
  signature: z.null(),
  acceptedSlot: decimal,
  route: z.string(),
  requestHash: z.string(),
  caller,
  request: request.nullable(),
  answer: answer.nullable(),
  facilitatorKey: z.string().exactOptional(),
  // A route that calls its upstream first is not settled directly.
  isAsked: z.literal(false).exactOptional(),
  claim: textOrNull.exactOptional(),
  lease: z.strictObject({ holder: z.string(), ms: z.int() }),
} satisfies Record<keyof NewPayment, z.ZodType>);

const settleRequest: z.ZodType<SettleRequest> = z.strictObject({
  payment,
  withinMs: z.int().min(0).max(60_000),
  storeBefore: z.int(),
});

const outcome: z.ZodType<DirectOutcome> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('settled'), status: z.enum(SETTLEMENT_STATUSES), signature: textOrNull }),
  z.strictObject({ kind: z.literal('stopped') }),
  z.strictObject({ kind: z.literal('declined'), reason: z.string() }),
]);

/** JSON with bigints as decimal strings. */
export function writeSettleRequest(settle: SettleRequest): string {
  return toJson(settle) ?? '';
}

/** Throws ZodError. */
export function readSettleRequest(body: unknown): SettleRequest {
  return settleRequest.parse(body);
}

/** Throws ZodError. */
export function readOutcome(body: unknown): DirectOutcome {
  return outcome.parse(body);
}
