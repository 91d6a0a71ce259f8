import { SluiceError } from './errors.ts';
import type { WebhookEvent } from './webhook-events.ts';

export interface ReceivedWebhook {
  /** Node's header object with lower-case names, or a `Headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw body before any parsing: its bytes, or their UTF-8 text. */
  readonly body: string | Uint8Array;
}

const TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';

/**
 * Verifies a webhook request (Standard Webhooks) and returns its event and id. An event can arrive more than once,
 * with the same id. Works in every runtime with WebCrypto.
 *
 * @param secret as returned by the API, `whsec_…`. During a rotation each request is signed with both secrets, so
 * that either of them is valid here
 * @throws SluiceError `WebhookRefused` (respond with 401) for a signature that does not match, and for a timestamp
 * more than 5 minutes from the current time
 * @throws TypeError for a malformed secret
 */
export async function verifyWebhook(
  { headers, body }: ReceivedWebhook,
  secret: string,
): Promise<WebhookEvent & { readonly id: string }> {
  const read = (name: string): string =>
    headerOf(headers, name) ?? refuse(`the webhook header ${name} is missing`);
  const [id, timestamp, signatures] = [
    read('webhook-id'),
    read('webhook-timestamp'),
    read('webhook-signature'),
  ];
  const age = /^\d{1,12}$/.test(timestamp) ? Date.now() / 1_000 - Number(timestamp) : Number.NaN;
  if (!(Math.abs(age) <= TOLERANCE_SECONDS))
    refuse('the webhook timestamp is more than 5 minutes from the current time');
  const key = await keyOf(secret);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signedContent = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  for (const [version, signature = ''] of signatures.split(' ').map((one) => one.split(',', 2)))
    if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, bytesOf(signature), signedContent)))
      return { ...(JSON.parse(text) as WebhookEvent), id };
  return refuse('no signature of the webhook matches the secret');
}

function headerOf(headers: ReceivedWebhook['headers'], name: string): string | null {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : null;
}

function keyOf(secret: string) {
  const bytes = bytesOf(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (bytes.length === 0)
    throw new TypeError(`invalid webhook secret: it must be ${PREFIX} followed by base64`);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** Empty if the text is not base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/.test(base64) && base64.length % 4 === 0;
  return Uint8Array.from(isBase64 ? atob(base64) : '', (character) => character.charCodeAt(0));
}

function refuse(reason: string): never {
  throw new SluiceError('WebhookRefused', 401, reason);
}
