import type { z } from 'zod';
import { DomainError, isDomainError } from '../domain/errors.ts';
import type { SigningTask } from '../domain/steps.ts';
import { type DecodedMessage, decodeMessage } from '../solana/tx/message.ts';
import { MAX_COMPUTE_UNITS, priorityLamports } from '../solana/tx/priority-fee.ts';
import type { FeeSpend } from './fee-spend.ts';

/** Limits from the signer's own settings, so that a compromised worker cannot exceed them. */
export interface SigningBounds {
  /** Maximum price of a compute unit, in micro-lamports. */
  readonly priceCapMicroLamports: bigint;
  /** Maximum fee of one transaction in lamports: base fee plus priority fee. */
  readonly maxFeeLamports: bigint;
  readonly allowHookAccounts: boolean;
  /** Limits of x402 payments. Without them, no payment is signed. */
  readonly payments?: PaymentBounds;
  /** Permits an off-curve destination, for which a program signs. Default false. */
  readonly allowVaults?: boolean;
}

/** Limits on what a fee payer signs for x402 payments, from the settings of the process with its key. */
export interface PaymentBounds {
  /** Maximum fee and compute units of one payment. */
  readonly maxFeeLamports: bigint;
  readonly maxComputeUnits: number;
  readonly spend: Pick<FeeSpend, 'add' | 'discard'>;
}

/**
 * Check of one settlement kind. Throws DomainError SigningRefused unless `message` is exactly what `terms` describe.
 */
export type Policy = (
  message: Uint8Array,
  terms: SigningTask['terms'],
  signer: string,
  bounds: SigningBounds,
) => void;

/** First part of a key's name, which is `hot`, `fee-payer/<address>` or `deposit/<index>`. */
type KeyRole = 'hot' | 'fee-payer' | 'deposit';

/** What the signer checks before it signs a message of one settlement kind. */
export interface SigningRule {
  /** Roles of the keys that may sign. A task that names a key of another role is refused. */
  readonly roles: readonly KeyRole[];
  readonly policy: Policy;
}

/** By settlement kind. The signer refuses a kind without a rule. */
export type SigningRules = Readonly<Partial<Record<string, SigningRule>>>;

export function maySign({ roles }: SigningRule, keyName: string): boolean {
  return roles.some((role) => role === keyName.split('/')[0]);
}

/** Parses the terms of a task. Throws DomainError SigningRefused if `schema` does not accept them. */
export function readTerms<T>(schema: z.ZodType<T>, terms: SigningTask['terms']): T {
  const { data, error } = schema.safeParse(terms);
  if (data === undefined)
    throw signingRefused(`the terms of the task do not match its kind: ${error?.message ?? ''}`);
  return data;
}

/** Decodes a message. Throws DomainError SigningRefused if the bytes are not a message of version legacy or 0. */
export function readMessage(message: Uint8Array): DecodedMessage {
  try {
    return decodeMessage(message);
  } catch (error) {
    if (isDomainError(error)) throw signingRefused(error.message);
    throw error;
  }
}

/**
 * Returns the compute unit limit, price and blockhash of a message. Throws DomainError SigningRefused if the limit, the
 * price or the fee exceeds `asked` or `bounds`.
 */
export function checkLimits(
  { computeUnitLimit, computeUnitPriceMicroLamports, blockhash }: DecodedMessage,
  asked: { readonly maxFeeLamports: string },
  bounds: SigningBounds,
) {
  if (computeUnitLimit === null || computeUnitPriceMicroLamports === null) {
    throw signingRefused('it does not set both compute unit limit and compute unit price');
  }
  if (computeUnitLimit > MAX_COMPUTE_UNITS)
    throw signingRefused(`its compute unit limit is ${computeUnitLimit}, above ${MAX_COMPUTE_UNITS}`);
  if (computeUnitPriceMicroLamports > bounds.priceCapMicroLamports)
    throw signingRefused(
      `its price of a compute unit is ${computeUnitPriceMicroLamports} micro-lamports, above the cap of ${bounds.priceCapMicroLamports}`,
    );
  const priorityFee = priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
  const maxFee = BigInt(asked.maxFeeLamports);
  if (priorityFee > maxFee)
    throw signingRefused(
      `its priority fee is ${priorityFee} lamports, above the maximum fee of ${maxFee} in its terms`,
    );
  // The message does not contain the base fee, so the maximum fee in the terms is checked instead of the actual fee.
  if (maxFee > bounds.maxFeeLamports)
    throw signingRefused(
      `its terms permit a fee of ${maxFee} lamports, but SLUICE_MAX_FEE_LAMPORTS is ${bounds.maxFeeLamports}`,
    );
  return { computeUnitLimit, computeUnitPriceMicroLamports, blockhash };
}

/** Throws DomainError SigningRefused unless `compose` returns exactly these bytes. */
export function checkComposed(message: Uint8Array, compose: () => Uint8Array): void {
  let expected: Uint8Array;
  try {
    expected = compose();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw signingRefused(error.message);
  }
  if (!Buffer.from(expected).equals(message))
    throw signingRefused('it is not the transaction that its terms describe');
}

export function signingRefused(reason: string): DomainError {
  return new DomainError('SigningRefused', `the message was not signed: ${reason}`);
}
