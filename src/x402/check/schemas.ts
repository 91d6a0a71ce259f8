import { z } from 'zod';
import { isAddress } from '../../domain/address.ts';
import { U64_MAX } from '../../domain/amount.ts';

/** Limit of the specification's memo. */
const MAX_MEMO_BYTES = 256;

const address = z.string().refine(isAddress, 'must be a base58 address of 32 bytes');
const units = z
  .string()
  .regex(/^[1-9]\d{0,19}$/, 'must be base units above 0 as a decimal string, such as "1000"')
  .refine((text) => BigInt(text) <= U64_MAX, 'must fit 64 bits');
const url = z.url('must be an absolute URL');
const extra = z.looseObject({
  feePayer: address,
  memo: z
    .string()
    .refine((text) => Buffer.byteLength(text) <= MAX_MEMO_BYTES, `must have at most ${MAX_MEMO_BYTES} bytes`)
    .optional(),
});
const common = { asset: address, payTo: address, maxTimeoutSeconds: z.int().min(1), extra };

/** Requirements of version 2 with scheme `exact` on Solana. Source: x402 specification, scheme_exact_svm. */
export const requirementsOfV2 = z.looseObject({ ...common, amount: units });

/** The same of version 1. */
export const requirementsOfV1 = z.looseObject({
  ...common,
  maxAmountRequired: units,
  resource: url,
  description: z.string(),
  mimeType: z.string().optional(),
});

export const resourceOfV2 = z.looseObject({
  url,
  description: z.string().optional(),
  mimeType: z.string().optional(),
});

/** Source: docs/interface.md, Payment protocol resources: Quote. */
export const interfaceQuote = z.looseObject({
  recipientWallet: address,
  tokenAccount: address,
  mint: address,
  amount: z.int().min(1),
  cluster: z.enum(['devnet', 'mainnet']),
  message: z.string(),
  quoteToken: z.string().min(1).optional(),
});

export const identifierExtension = z.looseObject({
  info: z.looseObject({ required: z.boolean() }),
});
