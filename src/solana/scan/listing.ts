import { createHash } from 'node:crypto';
import type { ByteRange } from './lookups.ts';

const END = 0x0a;

/** A name for the transactions of a block in their order: two lists of signatures have the same name where they are the same. */
export function listingOf(signatures: readonly string[]): string {
  return nameOf([listOf(signatures)]);
}

/** {@link listingOf} for a list that comes in pieces: the name of all of them together. */
export function nameOf(lists: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const list of lists) hash.update(list);
  return hash.digest('base64');
}

/** Signatures as they are named. */
export function listOf(signatures: readonly string[]): Uint8Array {
  return Buffer.from(signatures.map((signature) => `${signature}\n`).join(''));
}

/** {@link listOf} texts where they lie in the bytes of an answer. */
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
