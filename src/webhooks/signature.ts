import { Webhook } from 'standardwebhooks';

/**
 * The headers of Standard Webhooks for one try: `webhook-id` is the event's, the same at every try; `webhook-signature` has one
 * signature for each secret.
 */
export function signedHeaders(
  eventId: string,
  at: Date,
  body: string,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  return {
    'webhook-id': eventId,
    'webhook-timestamp': Math.floor(at.getTime() / 1_000).toString(),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(eventId, at, body)).join(' '),
  };
}
