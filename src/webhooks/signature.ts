import { Webhook } from 'standardwebhooks';

/** Standard Webhooks headers for one try: `webhook-id` is the event's id, and each secret makes one signature. */
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
