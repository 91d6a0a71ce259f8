import type { Resource, Terms } from '../terms.ts';
import { BAZAAR } from './bazaar.ts';
import { quoteOf } from './example.ts';
import { type JsonObject, writeHeaderJson } from './json.ts';

/** Headers that cross-origin scripts may read. */
export const EXPOSED_HEADERS = 'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE';

/** Saves buyers a blockhash request. Each quote has a different one, so it is not compared with `accepted`. */
export interface BlockhashHint {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

export type IdentifierUse = 'off' | 'optional' | 'required';

const MAX_ERROR_BYTES = 512;
const MAX_HEADER_BYTES = 8_000;
export const IDENTIFIER = 'payment-identifier';
const IDENTIFIER_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    required: { type: 'boolean' },
    id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
  },
  required: ['required'],
};
/** These limits keep PAYMENT-REQUIRED below 8 KB, with a memo of 256 bytes. Many clients and proxies refuse more. */
const MAX_URL_BYTES = 1_536;
const MAX_DESCRIPTION_BYTES = 1_024;
const MAX_MIME_TYPE_BYTES = 128;
const ELLIPSIS = '…';

/**
 * A 402 for clients of every dialect: version 2 in the header, version 1 in `accepts`, the interface's quote in
 * `payment`. Serialize the body with `exactJson`, because JSON.stringify rounds amounts above 2^53.
 */
export function paymentRequired(
  terms: Terms,
  resource: Resource,
  error: string,
  details: {
    readonly quoteToken: string;
    readonly hint: BlockhashHint | null;
    readonly identifier: IdentifierUse;
    /** Extension `bazaar`. Default: none. */
    readonly bazaar?: JsonObject | null;
    readonly fields?: object;
  },
): { readonly headers: Readonly<Record<string, string>>; readonly body: object } {
  const { hint, identifier, bazaar = null, quoteToken, fields } = details;
  const info = identifierInfo(identifier);
  const extensions = info === null ? {} : { [IDENTIFIER]: { info, schema: IDENTIFIER_SCHEMA } };
  const version2 = {
    x402Version: 2,
    error: truncated(error, MAX_ERROR_BYTES),
    resource: shortResource(resource),
    accepts: [requirementsV2(terms, hint)],
  };
  const message = resource.description || `Pay for ${resource.url}`;
  const body = {
    x402Version: 1,
    error,
    ...fields,
    accepts: [requirementsV1(terms, resource)],
    payment: quoteOf(terms, message, quoteToken),
  };
  return { headers: { 'payment-required': version2Header(version2, extensions, bazaar) }, body };
}

/** The header, without the description of the resource if it would be too long for many servers. */
function version2Header(required: object, extensions: object, bazaar: JsonObject | null): string {
  const write = (all: object) =>
    writeHeaderJson(Object.keys(all).length === 0 ? required : { ...required, extensions: all });
  const whole = bazaar === null ? null : write({ ...extensions, [BAZAAR]: bazaar });
  return whole !== null && whole.length <= MAX_HEADER_BYTES ? whole : write(extensions);
}

export function requirementsV1(terms: Terms, { url, description, mimeType }: Resource): JsonObject {
  const maxAmountRequired = terms.amount.toString();
  const resourceFields = { resource: url, description, mimeType };
  return { ...commonRequirements(terms), network: terms.network.v1, maxAmountRequired, ...resourceFields };
}

export function requirementsV2(terms: Terms, hint: BlockhashHint | null = null): JsonObject {
  const { extra, ...rest } = commonRequirements(terms);
  const hints = hint && {
    recentBlockhash: hint.blockhash,
    lastValidBlockHeight: hint.lastValidBlockHeight.toString(),
  };
  const amount = terms.amount.toString();
  return { ...rest, network: terms.network.caip2, amount, extra: { ...extra, ...hints } };
}

function commonRequirements({ asset, payTo, maxTimeoutSeconds, feePayer, memo }: Terms) {
  const extra = { feePayer, ...(memo === null ? {} : { memo }) };
  return { scheme: 'exact', asset, payTo, maxTimeoutSeconds, extra };
}

export function identifierInfo(identifier: IdentifierUse): JsonObject | null {
  return identifier === 'off' ? null : { required: identifier === 'required' };
}

/**
 * Shortens the resource to fit a header. The URL stays absolute: if too long, it loses its query, and then its path.
 */
function shortResource({ url, description, mimeType }: Resource): Resource {
  return {
    url: shortUrl(url),
    description: truncated(description, MAX_DESCRIPTION_BYTES),
    mimeType: truncated(mimeType, MAX_MIME_TYPE_BYTES),
  };
}

/** Truncates the text with an ellipsis, so that it has at most `maxBytes` in JSON. */
function truncated(text: string, maxBytes: number): string {
  if (jsonBytesOf(text) <= maxBytes) return text;
  let prefix = '';
  let bytes = jsonBytesOf(ELLIPSIS);
  for (const character of text) {
    bytes += jsonBytesOf(character);
    if (bytes > maxBytes) break;
    prefix += character;
  }
  return prefix + ELLIPSIS;
}

function shortUrl(url: string): string {
  if (jsonBytesOf(url) <= MAX_URL_BYTES) return url;
  const [path = ''] = url.split('?', 1);
  return jsonBytesOf(path) <= MAX_URL_BYTES ? path : new URL('/', url).href;
}

/** Bytes of the text in JSON, without the quotes but with escapes. */
function jsonBytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
