import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Terms } from '../terms.ts';

const claimsSchema = z.strictObject({
  route: z.string(),
  request: z.string(),
  /** Base units. */
  amount: z.string(),
  asset: z.string(),
  payTo: z.string(),
  /** Expiry of the quote, in Unix milliseconds. */
  expiresAt: z.number().int(),
  nonce: z.string(),
});
/** The content of a quote, which its token carries. No process stores it: only the token's holder can present it. */
type QuoteClaims = Omit<z.output<typeof claimsSchema>, 'nonce'>;

const NONCE_BYTES = 16;
const TOKEN = /^([A-Za-z0-9_-]{1,4096})\.([A-Za-z0-9_-]{43})$/;

/**
 * The key of the quotes of one gateway. It depends on the public URL, so that a token of another gateway with the same
 * secret, such as a test system with other prices, is not valid here.
 */
export function quoteKeyOf(secret: string, publicUrl: string): string {
  return createHmac('sha256', secret).update(`sluice/x402/quote/1|${publicUrl}`).digest('hex');
}

/** Signs the claims with HMAC-SHA256 under `secret`. A nonce makes each token unique. */
export function issueQuoteToken(secret: string, claims: QuoteClaims): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const body = Buffer.from(JSON.stringify({ ...claims, nonce }), 'utf8').toString('base64url');
  return `${body}.${tagOf(secret, body)}`;
}

/** The claims of a token that is signed with one of `secrets` and not expired at `now` (Unix ms); otherwise null. */
export function readQuoteToken(secrets: readonly string[], token: string, now: number): QuoteClaims | null {
  const [, body, tag] = TOKEN.exec(token) ?? [];
  if (body === undefined || tag === undefined) return null;
  if (!hasTag(secrets, body, tag)) return null;
  const { data } = claimsSchema.safeParse(parseJson(Buffer.from(body, 'base64url').toString('utf8')));
  if (data === undefined || data.expiresAt < now) return null;
  const { nonce: _nonce, ...claims } = data;
  return claims;
}

/** What a price of the upstream is quoted for. The terms have its amount. */
interface QuotedPrice {
  readonly route: string;
  readonly request: string;
  readonly terms: Pick<Terms, 'asset' | 'payTo' | 'amount'>;
}

const PRICE_QUOTE = /^([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})$/;

/**
 * A short quote for version 2, whose clients return amount and asset in `accepted`. It has only the expiry (Unix ms) and
 * the signature.
 */
export function signPriceQuote(secret: string, quoted: QuotedPrice, expiresAt: number): string {
  const expiry = expiresAt.toString(36);
  return `${expiry}.${tagOf(secret, priceQuoteText(quoted, expiry))}`;
}

/** True if the quote is signed with one of `secrets` for exactly this price, and not expired at `now` (Unix ms). */
export function isPriceQuote(
  secrets: readonly string[],
  quote: string,
  quoted: QuotedPrice,
  now: number,
): boolean {
  const [, expiry, tag] = PRICE_QUOTE.exec(quote) ?? [];
  if (expiry === undefined || tag === undefined || Number.parseInt(expiry, 36) < now) return false;
  return hasTag(secrets, priceQuoteText(quoted, expiry), tag);
}

/** Never equal to the signed part of a token, which is base64url. */
function priceQuoteText({ route, request, terms }: QuotedPrice, expiry: string): string {
  return JSON.stringify([route, request, terms.asset, terms.payTo, terms.amount.toString(), expiry]);
}

/** Memo of a transaction that pays a quote. It does not reveal the token. */
export function memoOf(quoteToken: string): string {
  return `x402:${createHash('sha256').update(quoteToken).digest('base64url')}`;
}

/** Identifier of the caller that holds a quote token. A payment identifier has no colon, so the two never collide. */
export function identifierOf(quoteToken: string): string {
  return `quote:${createHash('sha256').update(quoteToken).digest('hex')}`;
}

/** The tags are compared as text: base64url of 32 bytes has unused bits, so several texts decode to the same tag. */
function hasTag(secrets: readonly string[], text: string, tag: string): boolean {
  const tagText = Buffer.from(tag);
  return secrets.some((secret) => timingSafeEqual(Buffer.from(tagOf(secret, text)), tagText));
}

function tagOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
