import type { DecodedInstruction, DecodedMessage } from '../../solana/message.ts';
import { priorityLamports } from '../../solana/priority-fee.ts';
import { COMPUTE_BUDGET_PROGRAM } from '../../solana/programs.ts';
import type { ExactPayment, Limits } from '../terms.ts';
import { REASONS, refuse } from './reasons.ts';

/** What a transaction may cost, as its message says it. */
export type Fees = Pick<ExactPayment, 'computeUnitLimit' | 'computeUnitPriceMicroLamports' | 'feeLamports'>;

const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;
const LAMPORTS_PER_SIGNATURE = 5_000n;
/** 5 lamports a compute unit. Source: scheme_exact_svm. */
export const MAX_PRICE_MICRO_LAMPORTS = 5_000_000n;

/**
 * Instructions 0 and 1 set the compute unit limit and its price, and the whole fee is within the limits.
 * @throws BrokenRule
 */
export function checkFees(
  { instructions, signers }: DecodedMessage,
  { maxComputeUnits, maxFeeLamports }: Limits,
): Fees {
  const [first, second] = instructions;
  const limitData = budgetData(first, SET_COMPUTE_UNIT_LIMIT, 5);
  if (limitData === null)
    refuse(REASONS.computeLimit, 'instruction 1 must be SetComputeUnitLimit, with 5 bytes of data');
  const computeUnitLimit = limitData.getUint32(1, true);
  const priceData = budgetData(second, SET_COMPUTE_UNIT_PRICE, 9);
  if (priceData === null)
    refuse(REASONS.computePrice, 'instruction 2 must be SetComputeUnitPrice, with 9 bytes of data');
  const price = priceData.getBigUint64(1, true);
  if (computeUnitLimit > maxComputeUnits)
    refuse(
      REASONS.computeLimitTooHigh,
      `the compute unit limit is ${computeUnitLimit}; ${maxComputeUnits} is allowed`,
    );
  if (price > MAX_PRICE_MICRO_LAMPORTS)
    refuse(
      REASONS.computePriceTooHigh,
      `the price of a compute unit is ${price} micro-lamports; ${MAX_PRICE_MICRO_LAMPORTS} is allowed`,
    );
  const fees = feesOf(signers.length, computeUnitLimit, price);
  if (fees.feeLamports > maxFeeLamports)
    refuse(
      REASONS.computePriceTooHigh,
      `the fee is ${fees.feeLamports} lamports; ${maxFeeLamports} lamports are allowed`,
    );
  return fees;
}

/** The fee of a transaction with so many signatures. Source: exchange-interface: Prioritization fee rules 2. */
export function feesOf(signatures: number, computeUnitLimit: number, price: bigint): Fees {
  const priority = priorityLamports(computeUnitLimit, price);
  const feeLamports = BigInt(signatures) * LAMPORTS_PER_SIGNATURE + priority;
  return { computeUnitLimit, computeUnitPriceMicroLamports: price, feeLamports };
}

/** The data of an instruction of the compute budget program with this discriminator and of exactly this length. */
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
