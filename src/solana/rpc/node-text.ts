import { base58 } from '@scure/base';

const SIGNATURE_BYTES = 64;
/** Characters that 64 bytes take in base58. */
export const MIN_SIGNATURE_LENGTH = 64;
export const MAX_SIGNATURE_LENGTH = 88;
export const SIGNATURE_TEXT = new RegExp(
  `^[1-9A-HJ-NP-Za-km-z]{${MIN_SIGNATURE_LENGTH},${MAX_SIGNATURE_LENGTH}}$`,
);

/** True for base58 of 64 bytes; the pattern alone also matches other lengths. */
export function isSignature(text: string): boolean {
  return SIGNATURE_TEXT.test(text) && base58.decode(text).length === SIGNATURE_BYTES;
}

/** A block hash, 32 bytes in base58. It is only compared, so only its length is limited. */
export const HASH_TEXT = /^[1-9A-HJ-NP-Za-km-z]{1,44}$/;

/** More characters than any error of the chain has. */
const MAX_TEXT_LENGTH = 1_000;
/** PostgreSQL text cannot contain NUL; its JSON cannot contain NUL or lone surrogates either, even escaped. */
const NUL = '\0';
const REFUSED_ESCAPE = /\\u(?:0000|d[89a-f])/i;

/** True for text from a node that the database can store unchanged, also inside JSON: well-formed and not long. */
export function isPlain(text: string): boolean {
  return (
    text.length <= MAX_TEXT_LENGTH && text.isWellFormed() && !text.includes(NUL) && !REFUSED_ESCAPE.test(text)
  );
}

/** Text from a node for people to read: truncated, and without characters that the database refuses. */
export function printableText(text: string): string {
  const short = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  return short.toWellFormed().replaceAll(NUL, '\ufffd');
}
