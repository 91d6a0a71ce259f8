import type { z } from 'zod';
import { DomainError, isDomainError, messageOf } from '../domain/errors.ts';
import type { SigningTask } from '../domain/steps.ts';
import { type DecodedMessage, decodeMessage } from '../solana/tx/message.ts';
import { MAX_COMPUTE_UNITS, priorityLamports } from '../solana/tx/priority-fee.ts';

/** The signer's own limits, from its own settings. A compromised worker can request more, but cannot get it. */
export interface SigningBounds {
  /** Highest compute unit price, in micro-lamports. */
  readonly priceCapMicroLamports: bigint;
  /** Highest fee of one transaction, base fee and priority fee together, in lamports. */
  readonly maxFeeLamports: bigint;
  readonly allowHookAccounts: boolean;
  /** Accept an off-curve destination, whose program signs for it. Default false. */
  readonly allowVaults?: boolean;
}

/** The check of one settlement kind. @throws DomainError SigningRefused unless the terms order exactly this message */
export type Policy = (
  message: Uint8Array,
  terms: SigningTask['terms'],
  signer: string,
  bounds: SigningBounds,
) => void;

/** The first part of a key's name: `hot`, `fee-payer` of `fee-payer/<address>`, `deposit` of `deposit/<index>`. */
type KeyRole = 'hot' | 'fee-payer' | 'deposit';

/** The part of a kind that runs in the signer: which keys sign it, and the policy that each message must pass. */
export interface SigningRule {
  /** Roles of the keys that may sign these messages: a task cannot request a key of another role. */
  readonly roles: readonly KeyRole[];
  readonly policy: Policy;
}

/** By settlement kind. The signer refuses a kind without a rule. */
export type SigningRules = Readonly<Partial<Record<string, SigningRule>>>;

export function maySign({ roles }: SigningRule, key: string): boolean {
  return roles.some((role) => role === key.split('/')[0]);
}

/** Parses the terms of a task. @throws DomainError SigningRefused for terms of another shape */
export function readTerms<T>(schema: z.ZodType<T>, terms: SigningTask['terms']): T {
  const { data, error } = schema.safeParse(terms);
  if (data === undefined) throw refused(`its terms are not those of its kind: ${error?.message ?? ''}`);
  return data;
}

/** @throws DomainError SigningRefused for bytes that are not a message. */
export function readMessage(message: Uint8Array): DecodedMessage {
  try {
    return decodeMessage(message);
  } catch (error) {
    if (isDomainError(error)) throw refused(error.message);
    throw error;
  }
}

/** Checks unit limit and price of a message against the bounds; returns both and the blockhash. */
export function checkLimits(
  { computeUnitLimit, computeUnitPriceMicroLamports, blockhash }: DecodedMessage,
  asked: { readonly maxFeeLamports: string },
  bounds: SigningBounds,
) {
  if (computeUnitLimit === null || computeUnitPriceMicroLamports === null) {
    throw refused('it sets no compute unit limit or price');
  }
  if (computeUnitLimit > MAX_COMPUTE_UNITS) throw refused(`its compute unit limit is ${computeUnitLimit}`);
  if (computeUnitPriceMicroLamports > bounds.priceCapMicroLamports)
    throw refused(`its price of a compute unit is ${computeUnitPriceMicroLamports} micro-lamports`);
  const priority = priorityLamports(computeUnitLimit, computeUnitPriceMicroLamports);
  const allowed = BigInt(asked.maxFeeLamports);
  if (priority > allowed) throw refused(`its priority fee is ${priority} lamports`);
  // The base fee is not in the message: the chain sets it, and `maxFeeLamports` includes it.
  if (allowed > bounds.maxFeeLamports)
    throw refused(
      `its fee may be ${allowed} lamports, and SLUICE_MAX_FEE_LAMPORTS is ${bounds.maxFeeLamports}`,
    );
  return { computeUnitLimit, computeUnitPriceMicroLamports, blockhash };
}

/** @throws DomainError SigningRefused unless `compose` returns exactly these bytes */
export function checkComposed(message: Uint8Array, compose: () => Uint8Array): void {
  let expected: Uint8Array;
  try {
    expected = compose();
  } catch (error) {
    throw refused(messageOf(error));
  }
  if (!Buffer.from(expected).equals(message)) throw refused('it is not the transaction that its terms order');
}

export function refused(reason: string): DomainError {
  return new DomainError('SigningRefused', `the message was not signed: ${reason}`);
}
