/** The digits of base58, in the order of their values. */
export const BASE58_DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE = BigInt(BASE58_DIGITS.length);
const ADDRESS_BYTES = 32;
/**
 * 32 bytes take 32 to 44 characters of base58, and some such texts are of other lengths: see {@link isAddress}. The bound keeps its
 * reading short.
 */
export const ADDRESS_TEXT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** True for base58 text of exactly 32 bytes. Whether anybody can hold its key is another question: `solana/tokens/addresses.ts`. */
export function isAddress(text: string): boolean {
  if (!ADDRESS_TEXT.test(text)) return false;
  const digits = text.replace(/^1*/, '');
  const zeroBytes = text.length - digits.length;
  let value = 0n;
  for (const digit of digits) value = value * BASE + BigInt(BASE58_DIGITS.indexOf(digit));
  return zeroBytes + byteLength(value) === ADDRESS_BYTES;
}

function byteLength(value: bigint): number {
  return value === 0n ? 0 : Math.ceil(value.toString(16).length / 2);
}
