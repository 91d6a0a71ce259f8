import { base58 } from '@scure/base';

/** Parts of a transaction. The signatures are not verified. */
export interface SignedTransaction {
  /** 64 bytes each, in the order of `signers`. The first signature is the transaction's id. */
  readonly signatures: readonly Uint8Array[];
  readonly message: Uint8Array;
  /** base58 addresses, the fee payer first. */
  readonly signers: readonly string[];
  /** Accounts in the message itself, signers first. Excludes accounts from lookup tables. */
  readonly accounts: readonly string[];
}

const SIGNATURE_BYTES = 64;
const ADDRESS_BYTES = 32;
const VERSION_BIT = 0x80;
const VERSION_1 = 0x81;
/** Offset of the account count, after prefix (1), header (3), config mask (4), lifetime (32), instruction count (1). */
const VERSION_1_ACCOUNTS_AT = 41;

/** Reads a transaction of version legacy, 0 or 1 (SIMD-0385, with the signatures last). Null for other bytes. */
export function readSigned(raw: Uint8Array): SignedTransaction | null {
  return raw[0] === VERSION_1 ? readVersion1(raw) : readEarlierVersion(raw);
}

export function versionOf(message: Uint8Array): 'legacy' | number {
  const [first = 0] = message;
  return first < VERSION_BIT ? 'legacy' : first - VERSION_BIT;
}

function readVersion1(raw: Uint8Array): SignedTransaction | null {
  const count = raw[1] ?? 0;
  const end = raw.length - count * SIGNATURE_BYTES;
  const accounts = raw[VERSION_1_ACCOUNTS_AT] ?? 0;
  return assemble(raw.subarray(end), raw.subarray(0, end), count, accounts, VERSION_1_ACCOUNTS_AT + 1);
}

function readEarlierVersion(raw: Uint8Array): SignedTransaction | null {
  const [count, start] = shortLength(raw, 0);
  const end = start + count * SIGNATURE_BYTES;
  const message = raw.subarray(end);
  const first = message[0] ?? VERSION_1;
  if (first > VERSION_BIT) return null;
  const header = first === VERSION_BIT ? 1 : 0;
  const [accounts, at] = shortLength(message, header + 3);
  return message[header] === count ? assemble(raw.subarray(start, end), message, count, accounts, at) : null;
}

function assemble(
  signatureBytes: Uint8Array,
  message: Uint8Array,
  count: number,
  accountCount: number,
  at: number,
): SignedTransaction | null {
  const isComplete =
    signatureBytes.length === count * SIGNATURE_BYTES && message.length >= at + accountCount * ADDRESS_BYTES;
  if (!isComplete || count === 0 || count > accountCount) return null;
  const piece = (bytes: Uint8Array, from: number, size: number, index: number) =>
    bytes.subarray(from + index * size, from + (index + 1) * size);
  const accounts = Array.from({ length: accountCount }, (_, index) =>
    base58.encode(piece(message, at, ADDRESS_BYTES, index)),
  );
  const signatures = Array.from({ length: count }, (_, index) =>
    piece(signatureBytes, 0, SIGNATURE_BYTES, index),
  );
  return { signatures, message, signers: accounts.slice(0, count), accounts };
}

/** A compact-u16 length of at most two bytes, and the offset after it. */
function shortLength(bytes: Uint8Array, at: number): readonly [length: number, next: number] {
  const [low = 0, high = 0] = bytes.subarray(at, at + 2);
  return low < 0x80 ? [low, at + 1] : [(low & 0x7f) | (high << 7), at + 2];
}
