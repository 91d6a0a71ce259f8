import { z } from 'zod';
import { lowest } from '../../domain/units.ts';
import { type Policy, readTerms, type SigningRule, signingRefused } from '../../signing/checks.ts';
import { checkExactMessage } from './exact.ts';
import { maxPrice } from './exact-fees.ts';
import { BrokenRule } from './reasons.ts';
import { readPaymentMessage } from './transaction.ts';

const integer = z.string().regex(/^\d{1,20}$/);

/** The terms of a signing task for a payment. Integers are decimal strings; amounts are base units. */
const TaskTerms = z.object({
  asset: z.string(),
  tokenProgram: z.string(),
  decimals: integer,
  amount: integer,
  payTo: z.string(),
  memo: z.string().nullable(),
  maxFeeLamports: integer,
  maxComputeUnits: integer,
});

/**
 * Signing rule of a fee payer: the message must pass scheme `exact` with this key as its fee payer, within the limits of
 * the task and of this process, and its fee counts for the hour of this key. Only the fee limit bounds the number of
 * signers, because each signature costs a fee. Throws DomainError SigningRefused.
 */
export const paymentPolicy: Policy = (bytes, taskTerms, signer, bounds) => {
  const { decimals, amount, maxFeeLamports, maxComputeUnits, ...rest } = readTerms(TaskTerms, taskTerms);
  const own = bounds.payments;
  if (own === undefined) throw signingRefused('this process has no limits for x402 payments');
  const numbers = { decimals: Number(decimals), amount: BigInt(amount) };
  const limits = {
    maxComputeUnits: Math.min(Number(maxComputeUnits), own.maxComputeUnits),
    maxFeeLamports: lowest([BigInt(maxFeeLamports), bounds.maxFeeLamports, own.maxFeeLamports]),
    maxPriceMicroLamports: maxPrice(bounds.priceCapMicroLamports),
    assetLamports: new Map(),
    maxFeePercent: 0n,
    maxSigners: Number.POSITIVE_INFINITY,
  };
  try {
    const message = readPaymentMessage(bytes);
    const messageTerms = { ...rest, ...numbers, feePayer: signer };
    const { fees } = checkExactMessage(message, messageTerms, { managed: [signer], limits });
    own.spend.add(signer, bytes, fees.feeLamports);
  } catch (error) {
    if (error instanceof BrokenRule) throw signingRefused(`${error.message} (${error.reason})`);
    throw error;
  }
};

export const paymentRule: SigningRule = { roles: ['fee-payer'], policy: paymentPolicy };
