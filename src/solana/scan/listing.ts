import { createHash } from 'node:crypto';
import type { ByteRange } from './bytes/json-bytes.ts';

export const END = 0x0a;

/** A hash of a block's transaction signatures in their order: equal if and only if the lists are equal. */
export function listingOf(signatures: readonly string[]): string {
  return hashOf(listOf(signatures));
}

export function hashOf(list: Uint8Array): string {
  return createHash('sha256').update(list).digest('base64');
}

/** The signatures, each with a line end. Consecutive lists can be joined. */
export function listOf(signatures: readonly string[]): Uint8Array {
  return Buffer.from(signatures.map((signature) => `${signature}\n`).join(''));
}

/** {@link listOf} for texts at their positions in an answer. */
export function listIn(bytes: Uint8Array, signatures: readonly ByteRange[]): Uint8Array {
  const list = Buffer.allocUnsafe(signatures.reduce((size, { start, end }) => size + end - start + 1, 0));
  let next = 0;
  for (const { start, end } of signatures) {
    list.set(bytes.subarray(start, end), next);
    next += end - start;
    list[next] = END;
    next += 1;
  }
  return list;
}
