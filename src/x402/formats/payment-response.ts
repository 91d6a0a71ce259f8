import { reasonOfVersion1 } from '../rules/reasons.ts';
import type { Proof, Terms } from '../terms.ts';
import { writeHeaderJson } from './json.ts';

/** SettleResponse of versions 1 and 2 without the network. `errorReason` is a code of version 2. */
export interface SettleResult {
  readonly success: boolean;
  readonly errorReason?: string;
  readonly errorMessage?: string;
  readonly payer?: string;
  /** base58 signature; empty without one. */
  readonly transaction: string;
  /** Base units. */
  readonly amount?: string;
}

/** PAYMENT-RESPONSE of version 2; X-PAYMENT-RESPONSE of version 1 and of the interface. */
export function paymentResponse(
  dialect: Proof['dialect'],
  result: SettleResult,
  { caip2, v1 }: Terms['network'],
): Readonly<Record<string, string>> {
  if (dialect === 'v2') return { 'payment-response': writeHeaderJson({ ...result, network: caip2 }) };
  const { errorReason } = result;
  const reason = errorReason === undefined ? {} : { errorReason: reasonOfVersion1(errorReason) };
  return { 'x-payment-response': writeHeaderJson({ ...result, ...reason, network: v1 }) };
}
