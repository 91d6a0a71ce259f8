import { createHash } from 'node:crypto';
import type { ByteRange } from './bytes/json-bytes.ts';

export const LINE_FEED = 0x0a;

/** A hash of a block's transaction signatures in their order: equal if and only if the lists are equal. */
export function signaturesHashOf(signatures: readonly string[]): string {
  return hashOfList(signatureListOf(signatures));
}

export function hashOfList(list: Uint8Array): string {
  return createHash('sha256').update(list).digest('base64');
}

/** The signatures, each with a line end. Consecutive lists can be joined. */
export function signatureListOf(signatures: readonly string[]): Uint8Array {
  return Buffer.from(signatures.map((signature) => `${signature}\n`).join(''));
}

/** {@link signatureListOf} for texts at their positions in an answer. */
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
