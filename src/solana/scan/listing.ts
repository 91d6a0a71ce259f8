import { createHash } from 'node:crypto';
import type { ByteRange } from './bytes/json-bytes.ts';

export const LINE_FEED = 0x0a;

/** SHA-256 (base64) of a block's transaction signatures in block order, to compare these lists between nodes. */
export function signaturesHashOf(signatures: readonly string[]): string {
  return hashOfList(signatureListOf(signatures));
}

export function hashOfList(list: Uint8Array): string {
  return createHash('sha256').update(list).digest('base64');
}

/**
 * The signatures as text, each followed by a line feed. The lists of successive pieces of a block can be concatenated.
 */
export function signatureListOf(signatures: readonly string[]): Uint8Array {
  return Buffer.from(signatures.map((signature) => `${signature}\n`).join(''));
}

/** Like {@link signatureListOf}, for signatures at positions in the bytes of an answer. */
export function signatureListAt(bytes: Uint8Array, signatures: readonly ByteRange[]): Uint8Array {
  const list = Buffer.allocUnsafe(signatures.reduce((size, { start, end }) => size + end - start + 1, 0));
  let next = 0;
  for (const { start, end } of signatures) {
    list.set(bytes.subarray(start, end), next);
    next += end - start;
    list[next] = LINE_FEED;
    next += 1;
  }
  return list;
}
