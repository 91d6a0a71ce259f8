import type { Resource, Terms } from '../terms.ts';
import { BAZAAR } from './bazaar.ts';
import { quoteOf } from './example.ts';
import { type JsonObject, writeHeaderJson } from './json.ts';

/** Headers that cross-origin scripts may read. */
export const EXPOSED_HEADERS = 'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Sluice-Access-Pass';

/** Saves buyers a blockhash request. Each quote has a different one, so it is not compared with `accepted`. */
export interface BlockhashHint {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/** Terms with their quotes. */
export interface QuotedTerms {
  readonly terms: Terms;
  /** For a transaction that its buyer sends. */
  readonly quoteToken: string;
  /** For version 2, if the upstream has set the price; otherwise null. */
  readonly priceQuote: string | null;
}

export type IdentifierUse = 'off' | 'optional' | 'required';

const MAX_ERROR_BYTES = 512;
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
/**
 * These limits keep PAYMENT-REQUIRED below 8 KB, with the largest memo and number of prices that a routes file can have.
 * Many clients and proxies refuse more. URL and description get the bytes that the rest leaves.
 */
const MAX_JSON_BYTES = 6_138;
const MAX_URL_BYTES = 1_536;
const MAX_DESCRIPTION_BYTES = 1_024;
const MAX_MIME_TYPE_BYTES = 128;
const ELLIPSIS = '…';

/**
 * A 402 for clients of every dialect: version 2 in the header, version 1 in `accepts`, the interface's quote in
 * `payment`. With several assets, `payment` is that of the first one, and `payments` has all. Serialize the body with
 * `exactJson`, because JSON.stringify rounds amounts above 2^53.
 */
export function paymentRequired(
  offered: readonly [QuotedTerms, ...QuotedTerms[]],
  resource: Resource,
  error: string,
  details: {
    readonly hint: BlockhashHint | null;
    readonly identifier: IdentifierUse;
    /** The extension of sign-in by its name; empty if the route has none. */
    readonly signIn?: Readonly<Record<string, object>>;
    /** Extension `bazaar`. Default: none. */
    readonly bazaar?: JsonObject | null;
    readonly fields?: object;
  },
): { readonly headers: Readonly<Record<string, string>>; readonly body: object } {
  const { hint, identifier, signIn = {}, bazaar = null, fields } = details;
  const info = identifierInfo(identifier);
  const identifierExtension = info === null ? {} : { [IDENTIFIER]: { info, schema: IDENTIFIER_SCHEMA } };
  const extensions = { ...identifierExtension, ...signIn };
  const version2 = {
    x402Version: 2,
    error: truncated(error, MAX_ERROR_BYTES),
    accepts: offered.map(({ terms, priceQuote }) => requirementsV2(terms, hint, priceQuote)),
  };
  const required = withOptionalParts(version2, resource, extensions, bazaar);
  const message = resource.description || `Pay for ${resource.url}`;
  const [payment, ...otherPayments] = offered.map(({ terms, quoteToken }) =>
    quoteOf(terms, message, quoteToken),
  );
  const body = {
    x402Version: 1,
    error,
    ...fields,
    accepts: offered.map(({ terms }) => requirementsV1(terms, resource)),
    payment,
    ...(otherPayments.length === 0 ? {} : { payments: [payment, ...otherPayments] }),
  };
  return { headers: { 'payment-required': writeHeaderJson(required) }, body };
}

/** Adds the resource and the extensions. Without `bazaar`, if the header would be too long for many servers. */
function withOptionalParts(
  version2: object,
  resource: Resource,
  extensions: object,
  bazaar: JsonObject | null,
): object {
  const bytesOf = (value: object) => Buffer.byteLength(JSON.stringify(value));
  const empty = {
    ...version2,
    resource: { url: '', description: '', mimeType: '' },
    ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
  };
  const required = { ...empty, resource: shortResource(resource, MAX_JSON_BYTES - bytesOf(empty)) };
  if (bazaar === null) return required;
  const whole = { ...required, extensions: { ...extensions, [BAZAAR]: bazaar } };
  return bytesOf(whole) <= MAX_JSON_BYTES ? whole : required;
}

export function requirementsV1(terms: Terms, { url, description, mimeType }: Resource): JsonObject {
  const maxAmountRequired = terms.amount.toString();
  const resourceFields = { resource: url, description, mimeType };
  return { ...commonRequirements(terms), network: terms.network.v1, maxAmountRequired, ...resourceFields };
}

export function requirementsV2(
  terms: Terms,
  hint: BlockhashHint | null = null,
  quote: string | null = null,
): JsonObject {
  const { extra, ...rest } = commonRequirements(terms);
  const hints = hint && {
    recentBlockhash: hint.blockhash,
    lastValidBlockHeight: hint.lastValidBlockHeight.toString(),
  };
  const amount = terms.amount.toString();
  const quotes = quote === null ? {} : { quote };
  return { ...rest, network: terms.network.caip2, amount, extra: { ...extra, ...hints, ...quotes } };
}

function commonRequirements({ asset, payTo, maxTimeoutSeconds, feePayer, memo }: Terms) {
  const extra = { feePayer, ...(memo === null ? {} : { memo }) };
  return { scheme: 'exact', asset, payTo, maxTimeoutSeconds, extra };
}

export function identifierInfo(identifier: IdentifierUse): JsonObject | null {
  return identifier === 'off' ? null : { required: identifier === 'required' };
}

/**
 * Shortens the resource to at most `maxBytes`, of which the description gets what the rest leaves. The URL stays absolute:
 * if too long, it loses its query, and then its path.
 */
function shortResource(resource: Resource, maxBytes: number): Resource {
  const mimeType = truncated(resource.mimeType, MAX_MIME_TYPE_BYTES);
  const forUrl = maxBytes - jsonBytesOf(mimeType);
  const url = shortUrl(resource.url, Math.min(MAX_URL_BYTES, forUrl));
  const forDescription = forUrl - jsonBytesOf(url);
  const description = truncated(resource.description, Math.min(MAX_DESCRIPTION_BYTES, forDescription));
  return { url, description, mimeType };
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

function shortUrl(url: string, maxBytes: number): string {
  if (jsonBytesOf(url) <= maxBytes) return url;
  const [path = ''] = url.split('?', 1);
  return jsonBytesOf(path) <= maxBytes ? path : new URL('/', url).href;
}

/** Bytes of the text in JSON, without the quotes but with escapes. */
function jsonBytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
