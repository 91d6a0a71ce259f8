import type { Resource, Terms } from '../terms.ts';
import { type JsonObject, writeHeaderJson } from './header-json.ts';
import type { SettleResult } from './v2.ts';

export function requirementsV1(terms: Terms, { url, description, mimeType }: Resource): JsonObject {
  const { network, asset, amount, payTo, maxTimeoutSeconds, feePayer, memo } = terms;
  return {
    scheme: 'exact',
    network: network.v1,
    maxAmountRequired: amount.toString(),
    resource: url,
    description,
    mimeType,
    payTo,
    maxTimeoutSeconds,
    asset,
    extra: { feePayer, ...(memo === null ? {} : { memo }) },
  };
}

/** Value of the header X-PAYMENT-RESPONSE. */
export function paymentResponseV1(result: SettleResult, network: Terms['network']): string {
  return writeHeaderJson({ ...result, network: network.v1 });
}
