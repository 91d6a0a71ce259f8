import { createHash } from 'node:crypto';
import type { ByteRange } from './lookups.ts';

const END = 0x0a;

/** A name for the transactions of a block in their order: two lists of signatures have the same name where they are the same. */
export function listingOf(signatures: readonly string[]): string {
  return nameOf(Buffer.from(signatures.map((signature) => `${signature}\n`).join('')));
}

/** {@link listingOf} of texts where they lie in the bytes of an answer. */
export function listingIn(bytes: Uint8Array, signatures: readonly ByteRange[]): string {
  const list = Buffer.allocUnsafe(signatures.reduce((size, { start, end }) => size + end - start + 1, 0));
  let next = 0;
  for (const { start, end } of signatures) {
    list.set(bytes.subarray(start, end), next);
    next += end - start;
    list[next] = END;
    next += 1;
  }
  return nameOf(list);
}

function nameOf(list: Uint8Array): string {
  return createHash('sha256').update(list).digest('base64');
}
