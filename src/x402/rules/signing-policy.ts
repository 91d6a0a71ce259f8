import { z } from 'zod';
import { lowest } from '../../domain/units.ts';
import { type Policy, readTerms, type SigningRule, signingRefused } from '../../signing/checks.ts';
import { checkExactMessage } from './exact.ts';
import { BrokenRule } from './reasons.ts';
import { readPaymentMessage } from './transaction.ts';

const integer = z.string().regex(/^\d{1,20}$/);

/** The terms of a signing task for a payment. Integers are decimal strings; amounts are base units. */
const terms = z.object({
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
 * A fee payer signs only messages that pass scheme `exact`, with itself as fee payer. The signer knows no other fee
 * payer, and the fee limits the number of signers. Throws DomainError SigningRefused.
 */
export const paymentPolicy: Policy = (bytes, taskTerms, signer, bounds) => {
  const { decimals, amount, maxFeeLamports, maxComputeUnits, ...rest } = readTerms(terms, taskTerms);
  const numbers = { decimals: Number(decimals), amount: BigInt(amount) };
  const limits = {
    maxComputeUnits: Number(maxComputeUnits),
    maxFeeLamports: lowest([BigInt(maxFeeLamports), bounds.maxFeeLamports]),
    assetLamports: new Map(),
    maxFeePercent: 0n,
    maxSigners: Number.POSITIVE_INFINITY,
  };
  try {
    const message = readPaymentMessage(bytes);
    const messageTerms = { ...rest, ...numbers, feePayer: signer };
    const { fees } = checkExactMessage(message, messageTerms, { managed: [signer], limits });
    const price = fees.computeUnitPriceMicroLamports;
    if (price > bounds.priceCapMicroLamports)
      throw signingRefused(`its price of a compute unit is ${price} micro-lamports`);
  } catch (error) {
    if (error instanceof BrokenRule) throw signingRefused(`${error.message} (${error.reason})`);
    throw error;
  }
};

export const paymentRule: SigningRule = { roles: ['fee-payer'], policy: paymentPolicy };
