import { lowest } from '../../domain/units.ts';
import type { DecodedInstruction, DecodedMessage } from '../../solana/tx/message.ts';
import { priorityLamports } from '../../solana/tx/priority-fee.ts';
import { COMPUTE_BUDGET_PROGRAM } from '../../solana/tx/programs.ts';
import type { ExactPayment, Limits, Terms } from '../terms.ts';
import { REASONS, refuse } from './reasons.ts';

export type Fees = Pick<ExactPayment, 'computeUnitLimit' | 'computeUnitPriceMicroLamports' | 'feeLamports'>;

const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;
const LAMPORTS_PER_SIGNATURE = 5_000n;
/** 5 lamports for each compute unit. Source: scheme_exact_svm. */
const MAX_PRICE_MICRO_LAMPORTS = 5_000_000n;

/** The lower one of the limit of scheme `exact` and of the configured one, in micro-lamports per compute unit. */
export function maxPrice(configuredMicroLamports: bigint): bigint {
  return lowest([MAX_PRICE_MICRO_LAMPORTS, configuredMicroLamports]);
}

/**
 * Checks the fees of a message and returns them. The first two instructions must set the compute unit limit and price.
 * The total fee, and the priority fee in relation to the value of the payment, must be within the limits.
 * @throws BrokenRule
 */
export function checkFees(
  { instructions, signers }: DecodedMessage,
  limits: Limits,
  terms: Pick<Terms, 'asset' | 'decimals' | 'amount'>,
): Fees {
  const { maxComputeUnits, maxFeeLamports, maxPriceMicroLamports } = limits;
  const [first, second] = instructions;
  const computeUnitLimit =
    budgetData(first, SET_COMPUTE_UNIT_LIMIT, 5)?.getUint32(1, true) ??
    refuse(REASONS.computeLimit, 'instruction 1 must be SetComputeUnitLimit, with 5 bytes of data');
  const price =
    budgetData(second, SET_COMPUTE_UNIT_PRICE, 9)?.getBigUint64(1, true) ??
    refuse(REASONS.computePrice, 'instruction 2 must be SetComputeUnitPrice, with 9 bytes of data');
  if (computeUnitLimit > maxComputeUnits)
    refuse(
      REASONS.computeLimitTooHigh,
      `the compute unit limit is ${computeUnitLimit}; at most ${maxComputeUnits} is allowed`,
    );
  if (price > maxPriceMicroLamports)
    refuse(
      REASONS.computePriceTooHigh,
      `the compute unit price is ${price} micro-lamports; at most ${maxPriceMicroLamports} is allowed`,
    );
  const fees = feesOf(signers.length, computeUnitLimit, price);
  if (fees.feeLamports > maxFeeLamports)
    refuse(
      REASONS.computePriceTooHigh,
      `the fee is ${fees.feeLamports} lamports; at most ${maxFeeLamports} are allowed`,
    );
  checkPriorityShare(priorityLamports(computeUnitLimit, price), limits, terms);
  return fees;
}

/** Limits the priority fee (lamports) to `maxFeePercent` of the payment's value, for assets with a configured value. */
function checkPriorityShare(
  priority: bigint,
  { assetLamports, maxFeePercent }: Limits,
  { asset, decimals, amount }: Pick<Terms, 'asset' | 'decimals' | 'amount'>,
): void {
  const lamportsPerToken = assetLamports.get(asset);
  if (lamportsPerToken === undefined) return;
  const maxPriorityLamports = (amount * lamportsPerToken * maxFeePercent) / (100n * 10n ** BigInt(decimals));
  if (priority > maxPriorityLamports)
    refuse(
      REASONS.computePriceTooHigh,
      `the priority fee is ${priority} lamports; at most ${maxPriorityLamports} are allowed, which is ${maxFeePercent} percent of the payment's value`,
    );
}

/** The fees of a transaction. `price` is in micro-lamports. Source: docs/interface.md, Prioritization fee rules 2. */
export function feesOf(signatureCount: number, computeUnitLimit: number, price: bigint): Fees {
  const priority = priorityLamports(computeUnitLimit, price);
  const feeLamports = BigInt(signatureCount) * LAMPORTS_PER_SIGNATURE + priority;
  return { computeUnitLimit, computeUnitPriceMicroLamports: price, feeLamports };
}

function budgetData(
  instruction: DecodedInstruction | undefined,
  discriminator: number,
  length: number,
): DataView | null {
  if (instruction?.program !== COMPUTE_BUDGET_PROGRAM) return null;
  const { data } = instruction;
  if (data[0] !== discriminator || data.length !== length) return null;
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}
