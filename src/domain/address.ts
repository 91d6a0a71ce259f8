/** The base58 alphabet, in the order of digit values. */
export const BASE58_DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE = BigInt(BASE58_DIGITS.length);
const ADDRESS_BYTES = 32;
/**
 * Matches base58 text of 32 to 44 characters, the possible lengths of 32 bytes. Some matching texts decode to a
 * different length: {@link isAddress} decides. The upper bound limits the decoding work.
 */
export const ADDRESS_TEXT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** True for base58 text of exactly 32 bytes. `solana/tokens/addresses.ts` decides whether an address can be paid. */
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
