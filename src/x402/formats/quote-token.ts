import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const claims = z.strictObject({
  route: z.string(),
  request: z.string(),
  /** Base units. */
  amount: z.string(),
  asset: z.string(),
  payTo: z.string(),
  /** Unix milliseconds at which it expires. */
  expiresAt: z.number().int(),
  nonce: z.string(),
});
/** The content of a quote, signed by this server. No process stores it; only the token's holder can present it. */
type QuoteClaims = Omit<z.output<typeof claims>, 'nonce'>;

const NONCE_BYTES = 16;
const TOKEN = /^([A-Za-z0-9_-]{1,4096})\.([A-Za-z0-9_-]{43})$/;

/** Signs the claims with HMAC-SHA256 under `secret`. A nonce makes each token unique. */
export function issueQuoteToken(secret: string, quoted: QuoteClaims): string {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const body = Buffer.from(JSON.stringify({ ...quoted, nonce }), 'utf8').toString('base64url');
  return `${body}.${tagOf(secret, body)}`;
}

/** The claims of an unexpired token that one of `secrets` signed; otherwise null. */
export function readQuoteToken(secrets: readonly string[], token: string, now: number): QuoteClaims | null {
  const [, body, tag] = TOKEN.exec(token) ?? [];
  if (body === undefined || tag === undefined) return null;
  // Compared as text: base64url of 32 bytes has unused bits, so several texts decode to the same tag.
  const tagText = Buffer.from(tag);
  if (!secrets.some((secret) => timingSafeEqual(Buffer.from(tagOf(secret, body)), tagText))) return null;
  const { data } = claims.safeParse(parsed(Buffer.from(body, 'base64url').toString('utf8')));
  if (data === undefined || data.expiresAt < now) return null;
  const { nonce: _nonce, ...quoted } = data;
  return quoted;
}

/** Memo of a transaction that pays a quote. The token cannot be derived from it. */
export function memoOf(quoteToken: string): string {
  return `x402:${createHash('sha256').update(quoteToken).digest('base64url')}`;
}

/** Caller identifier of a quote token. It cannot equal a payment identifier, which contains no colon. */
export function identifierOf(quoteToken: string): string {
  return `quote:${createHash('sha256').update(quoteToken).digest('hex')}`;
}

function tagOf(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('base64url');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
