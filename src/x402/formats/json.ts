import { base64 } from '@scure/base';
import { LosslessNumber, parse, stringify } from 'lossless-json';

export type JsonObject = Readonly<Record<string, unknown>>;

const MAX_HEADER_CHARACTERS = 64 * 1024;
/** Maximum nesting. Requests of official clients, extensions included, have fewer than half as many levels. */
export const MAX_DEPTH = 32;

/**
 * The keys that have different values in one object. Parsers disagree about which value counts.
 * The parser is recursive, so check the depth first. @throws Error if the text is not JSON.
 */
export function ambiguousKeys(text: string): readonly string[] {
  const keys: string[] = [];
  parse(text, undefined, { onDuplicateKey: ({ key }) => void keys.push(key) });
  return keys;
}

export function isShallow(value: unknown, depth = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}

/**
 * Parses a header: padded standard base64 of a UTF-8 JSON object without byte order mark. Null for anything else, and
 * for an object in which a key has two values. Source: x402 specification, HTTP transport.
 */
export function readHeaderJson(header: string): JsonObject | null {
  if (header.length > MAX_HEADER_CHARACTERS) return null;
  const bytes = readBase64(header);
  if (bytes === null) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return isObject(value) && isShallow(value) && ambiguousKeys(text).length === 0 ? value : null;
  } catch {
    return null;
  }
}

export function writeHeaderJson(value: object): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64');
}

/** Decodes standard base64 with padding and zero trailing bits; null for any other text, such as base64url. */
export function readBase64(text: unknown): Uint8Array | null {
  if (typeof text !== 'string' || text === '') return null;
  try {
    return base64.decode(text);
  } catch {
    return null;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The own property; undefined if `value` is not an object or lacks the key. */
export function at(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function textAt(value: unknown, key: string): string | null {
  const found = at(value, key);
  return typeof found === 'string' ? found : null;
}

/** An integer above 2^53. `exactJson` writes all digits; JSON.stringify writes the nearest double. */
class LargeInteger extends LosslessNumber {
  toJSON(): number {
    return Number(this.value);
  }
}

/** A JSON integer: a number if it is safe, otherwise an object that {@link exactJson} writes with all digits. */
export function jsonInteger(value: bigint): number | LosslessNumber {
  const isSafe = value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER);
  return isSafe ? Number(value) : new LargeInteger(value.toString());
}

/** Serializes `value` with all digits of each {@link jsonInteger}. */
export function exactJson(value: object): string {
  return stringify(value) ?? 'null';
}
