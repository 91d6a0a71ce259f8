import { reasonOfVersion1 } from '../rules/reasons.ts';
import type { Proof, Terms } from '../terms.ts';
import { writeHeaderJson } from './json.ts';

/** A SettleResponse of the x402 specification, without the network. `errorReason` is a code of version 2. */
export interface SettleResult {
  readonly success: boolean;
  readonly errorReason?: string;
  readonly errorMessage?: string;
  readonly payer?: string;
  /** Signature of the transaction in base58; empty if there is none. */
  readonly transaction: string;
  /** Base units. */
  readonly amount?: string;
}

/** The header PAYMENT-RESPONSE in version 2; X-PAYMENT-RESPONSE in version 1 and the interface's dialects. */
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
