import type { Resource, Terms } from '../terms.ts';
import { quoteOf } from './example.ts';
import { requirementsV1 } from './v1.ts';
import { type BlockhashHint, type IdentifierUse, paymentRequiredV2 } from './v2.ts';

/** Headers that cross-origin scripts may read. */
export const EXPOSED_HEADERS = 'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE';

export interface PaymentRequired {
  readonly headers: Readonly<Record<string, string>>;
  /** Serialize it with `exactJson`: JSON.stringify rounds amounts above 2^53. */
  readonly body: object;
}

/** One 402 for all clients: version 2 in the header, version 1 in `accepts`, the interface's quote in `payment`. */
export function paymentRequired(
  terms: Terms,
  resource: Resource,
  error: string,
  more: {
    readonly quoteToken: string;
    readonly hint: BlockhashHint | null;
    readonly identifier: IdentifierUse;
    readonly fields?: object;
  },
): PaymentRequired {
  const message = resource.description || `Pay for ${resource.url}`;
  const { hint, identifier, quoteToken, fields = {} } = more;
  return {
    headers: { 'payment-required': paymentRequiredV2(terms, resource, error, { hint, identifier }) },
    body: {
      x402Version: 1,
      error,
      ...fields,
      accepts: [requirementsV1(terms, resource)],
      payment: quoteOf(terms, message, quoteToken),
    },
  };
}
