import { Webhook } from 'standardwebhooks';
import { type ExplorerSettings, explorerLink } from '../domain/explorer.ts';

/** Standard Webhooks headers of one try, with one signature for each secret. */
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

/** Adds the explorer link to a deposit event. The link depends on settings, so it is not stored with the event. */
export function withLinks(body: string, explorer: ExplorerSettings): string {
  const event = JSON.parse(body) as {
    readonly type: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  const { signature } = event.data;
  if (!event.type.startsWith('deposit.') || typeof signature !== 'string') return body;
  const data = { ...event.data, explorerUrl: explorerLink(signature, explorer) };
  return JSON.stringify({ ...event, data });
}
