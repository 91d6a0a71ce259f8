import { createHash } from 'node:crypto';
import type { ByteRange } from './bytes/lookup-tables.ts';

const END = 0x0a;

/** A hash of a block's transaction signatures in their order: equal if and only if the lists are equal. */
export function listingOf(signatures: readonly string[]): string {
  return nameOf([listOf(signatures)]);
}

/** {@link listingOf} for consecutive lists: the hash of all of them together. */
export function nameOf(lists: readonly Uint8Array[]): string {
  const listing = new Listing();
  for (const list of lists) listing.add(list);
  return listing.name();
}

/** {@link nameOf} for lists that arrive one by one. */
export class Listing {
  readonly #hash = createHash('sha256');
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(list: Uint8Array): void {
    this.#hash.update(list);
    for (let at = list.indexOf(END); at >= 0; at = list.indexOf(END, at + 1)) this.#size += 1;
  }

  /** Can be called only once, at the end. */
  name(): string {
    return this.#hash.digest('base64');
  }
}

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
