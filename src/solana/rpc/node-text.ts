import { base58 } from '@scure/base';

const SIGNATURE_BYTES = 64;
/** They take so many characters of base58. */
export const SHORTEST_SIGNATURE = 64;
export const LONGEST_SIGNATURE = 88;
export const SIGNATURE_TEXT = new RegExp(
  `^[1-9A-HJ-NP-Za-km-z]{${SHORTEST_SIGNATURE},${LONGEST_SIGNATURE}}$`,
);

/** True for base58 of 64 bytes: not all that looks like a signature is one. */
export function isSignature(text: string): boolean {
  return SIGNATURE_TEXT.test(text) && base58.decode(text).length === SIGNATURE_BYTES;
}

/** The hash of a block, 32 bytes in base58: it is only compared, so that no more is asked of it than to be no longer. */
export const HASH_TEXT = /^[1-9A-HJ-NP-Za-km-z]{1,44}$/;

/** More characters than any error of the chain has. */
const LONGEST_WORDS = 1_000;
/** No text of PostgreSQL holds a NUL; nor does its JSON, written out or not, and half a character neither. */
const NUL = '\0';
const ESCAPED = /\\u(?:0000|d[89a-f])/i;

/** True for words of a node that can be put on record as they are, inside JSON, too: text that is whole, and not long. */
export function isPlain(words: string): boolean {
  return (
    words.length <= LONGEST_WORDS && words.isWellFormed() && !words.includes(NUL) && !ESCAPED.test(words)
  );
}

/** What a node says for people to read, as it can be put on record: cut, and without what no text can hold. */
export function plainWords(words: string): string {
  const short = words.length > LONGEST_WORDS ? `${words.slice(0, LONGEST_WORDS)}…` : words;
  return short.toWellFormed().replaceAll(NUL, '\ufffd');
}
