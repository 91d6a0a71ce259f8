import { BAZAAR } from '../formats/bazaar.ts';
import type { JsonObject } from '../formats/json.ts';
import { reasonOfVersion1 } from '../rules/reasons.ts';
import type { Limits, Refused } from '../terms.ts';
import { UNAVAILABLE } from './examine.ts';
import type { FacilitatorDeps, SettleOutcome, VerifyOutcome } from './facilitator.ts';
import type { FacilitatorRequest } from './request.ts';

type Dialect = FacilitatorRequest['dialect'];

/** Source: x402 specification, versions 1 and 2: VerifyResponse. */
export function verifyBody(verified: VerifyOutcome, dialect: Dialect): JsonObject {
  if (verified.kind === 'valid') return { isValid: true, payer: verified.payer };
  const { message, payer } = verified;
  return {
    isValid: false,
    invalidReason: reasonOf(verified, dialect, 'verify'),
    invalidMessage: message,
    ...(payer === null ? {} : { payer }),
  };
}

/** Source: x402 specification, versions 1 and 2: SettleResponse. */
export function settleBody(
  settled: SettleOutcome,
  dialect: Dialect,
  { network, amount }: { readonly network: string; readonly amount?: string },
): JsonObject {
  const payer = settled.kind === 'success' ? settled.payment.payer : settled.payer;
  const common = {
    ...(payer === null ? {} : { payer }),
    transaction: settled.signature ?? '',
    network,
  };
  switch (settled.kind) {
    case 'success':
      return { success: true, ...common, amount };
    case 'settling': {
      const errorMessage = 'the payment is not confirmed yet: repeat this request';
      return { success: false, errorReason: 'settlement_pending', errorMessage, ...common };
    }
    case 'failed': {
      const errorReason = reasonOf(settled, dialect, 'settle');
      return { success: false, errorReason, errorMessage: settled.message, ...common };
    }
  }
}

/** Source: x402 specification: SupportedResponse. */
export function supportedBody({
  network: { caip2, v1 },
  feePayers,
  limits,
}: Pick<FacilitatorDeps, 'network' | 'feePayers' | 'limits'>): JsonObject {
  const [feePayer] = feePayers;
  const extra = { feePayer, ...publicLimits(limits) };
  const kinds = [
    { x402Version: 2, scheme: 'exact', network: caip2, extra },
    { x402Version: 1, scheme: 'exact', network: v1, extra },
  ];
  const signers = { 'solana:*': feePayers };
  return { kinds: feePayer === undefined ? [] : kinds, extensions: [BAZAAR], signers };
}

/** Lamports and micro-lamports are decimal strings. `maxFeePercent` is present only if an asset has a configured value in lamports. */
function publicLimits({ assetLamports, maxFeePercent, ...limits }: Limits): JsonObject {
  const feeLimits = {
    maxComputeUnits: limits.maxComputeUnits,
    maxComputeUnitPriceMicroLamports: limits.maxPriceMicroLamports.toString(),
    maxFeeLamports: limits.maxFeeLamports.toString(),
  };
  if (assetLamports.size === 0) return feeLimits;
  const values = [...assetLamports].map(([asset, lamports]) => [asset, lamports.toString()]);
  return { ...feeLimits, maxFeePercent: Number(maxFeePercent), assetLamports: Object.fromEntries(values) };
}

function reasonOf({ reason }: Refused, dialect: Dialect, step: 'verify' | 'settle'): string {
  if (reason === UNAVAILABLE) return `unexpected_${step}_error`;
  return dialect === 'v1' ? reasonOfVersion1(reason) : reason;
}
