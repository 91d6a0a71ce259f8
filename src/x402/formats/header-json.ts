import { base64 } from '@scure/base';
import { parse } from 'lossless-json';

/** A JSON object out of a header or a body, whose values are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

const MAX_HEADER_CHARACTERS = 64 * 1024;
const MAX_DEPTH = 32;

/**
 * The object in a header: standard base64 with padding, of UTF-8 JSON without a byte order mark. Null for anything else, also for an
 * object in which a key has two values: parsers differ over which value counts. Source: x402 specification, HTTP transport.
 */
export function readHeaderJson(header: string): JsonObject | null {
  if (header.length > MAX_HEADER_CHARACTERS) return null;
  const bytes = readBase64(header);
  if (bytes === null) return null;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || !isShallow(value, MAX_DEPTH)) return null;
    // Throws for a key with two values.
    parse(text);
    return value;
  } catch {
    return null;
  }
}

/** A JSON object as a header holds it. */
export function writeHeaderJson(value: object): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64');
}

/** Bytes of standard base64 with padding and zero trailing bits; null for any other text, also for base64url. */
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

/** The own value of a key; undefined where `value` is no object. */
export function at(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The text at a key; null where there is none. */
export function textAt(value: unknown, key: string): string | null {
  const found = at(value, key);
  return typeof found === 'string' ? found : null;
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}
