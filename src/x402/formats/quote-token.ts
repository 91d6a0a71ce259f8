import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

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
  // The tags are compared as text: base64url of 32 bytes has unused bits, so several texts decode to the same tag.
  const tagText = Buffer.from(tag);
  if (!secrets.some((secret) => timingSafeEqual(Buffer.from(tagOf(secret, body)), tagText))) return null;
  const { data } = claimsSchema.safeParse(parseJson(Buffer.from(body, 'base64url').toString('utf8')));
  if (data === undefined || data.expiresAt < now) return null;
  const { nonce: _nonce, ...claims } = data;
  return claims;
}

/** Memo of a transaction that pays a quote. It does not reveal the token. */
export function memoOf(quoteToken: string): string {
  return `x402:${createHash('sha256').update(quoteToken).digest('base64url')}`;
}

/** Identifier of the caller that holds a quote token. A payment identifier has no colon, so the two never collide. */
export function identifierOf(quoteToken: string): string {
  return `quote:${createHash('sha256').update(quoteToken).digest('hex')}`;
}

function tagOf(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('base64url');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
