import { DomainError } from './errors.ts';

export const U64_MAX = 2n ** 64n - 1n;

export const LAMPORT_DECIMALS = 9;
const DECIMAL_TEXT = /^[1-9][0-9]{0,19}$/;

/**
 * Parses an amount of base units, 1 to 2^64-1. Accepts only decimal digits without sign, point or leading zero.
 * Throws DomainError InvalidRequest that names `field`.
 */
export function parseAmount(text: string, field: string): bigint {
  if (!isAmount(text)) {
    throw new DomainError(
      'InvalidRequest',
      `${field} must be a whole number of base units from 1 to ${U64_MAX}, as a decimal string without sign or leading zero`,
      { field },
    );
  }
  return BigInt(text);
}

/** True for base units that {@link parseAmount} accepts. */
export function isAmount(text: string): boolean {
  return DECIMAL_TEXT.test(text) && BigInt(text) <= U64_MAX;
}

/**
 * A withdrawal's amount for display: `1.5 SOL`, or `12500000 base units of 9xQe…`. Token amounts stay in base units,
 * because only the chain has the mint's decimals. `mint` is the display form of the mint address.
 */
export function describeAmount(
  { asset, amount }: { readonly asset: string; readonly amount: string },
  mint: string = asset,
): string {
  return asset === 'SOL' ? `${formatLamports(BigInt(amount))} SOL` : `${amount} base units of ${mint}`;
}

export function formatLamports(lamports: bigint): string {
  return formatUnits(lamports, LAMPORT_DECIMALS);
}

/** Formats base units with a decimal point: `formatUnits(12_500_000n, 6)` is `12.5`. Exact; no trailing zeros. */
export function formatUnits(baseUnits: bigint, decimals: number): string {
  const digits = (baseUnits < 0n ? -baseUnits : baseUnits).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return `${baseUnits < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}
