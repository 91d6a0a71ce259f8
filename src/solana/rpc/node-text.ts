import { base58 } from '@scure/base';

const SIGNATURE_BYTES = 64;
/** Bounds for the base58 text of 64 bytes. */
export const MIN_SIGNATURE_LENGTH = 64;
export const MAX_SIGNATURE_LENGTH = 88;
export const SIGNATURE_TEXT = new RegExp(
  `^[1-9A-HJ-NP-Za-km-z]{${MIN_SIGNATURE_LENGTH},${MAX_SIGNATURE_LENGTH}}$`,
);

/** True for the base58 text of exactly 64 bytes. {@link SIGNATURE_TEXT} also matches a few other lengths. */
export function isSignature(text: string): boolean {
  return SIGNATURE_TEXT.test(text) && base58.decode(text).length === SIGNATURE_BYTES;
}

/** Base58 text of at most 44 characters. A block hash is only compared, so it is not decoded to check for 32 bytes. */
export const HASH_TEXT = /^[1-9A-HJ-NP-Za-km-z]{1,44}$/;

/** Longer than any transaction error of the chain. */
const MAX_TEXT_LENGTH = 1_000;
/** PostgreSQL text cannot contain NUL; its JSON cannot contain NUL or lone surrogates either, even escaped. */
const NUL = '\0';
const REFUSED_ESCAPE = /\\u(?:0000|d[89a-f])/i;

/** True if PostgreSQL can store the text of a node unchanged, also inside JSON, and the text is not too long. */
export function isPlain(text: string): boolean {
  return (
    text.length <= MAX_TEXT_LENGTH && text.isWellFormed() && !text.includes(NUL) && !REFUSED_ESCAPE.test(text)
  );
}

/** A node's text for messages: truncated, and without characters that PostgreSQL refuses. */
export function printableText(text: string): string {
  const short = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  return short.toWellFormed().replaceAll(NUL, '\ufffd');
}

/** Narrows a value of a node's JSON to an object. Each field can have any type. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
