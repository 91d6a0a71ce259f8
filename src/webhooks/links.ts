import { type ExplorerSettings, explorerLink } from '../domain/explorer.ts';

/**
 * An event as it is told: what is on record of a deposit, with the page of its transaction, as the API shows it. The link is a setting
 * of ours and no fact, so that it is made when the event is told.
 */
export function withLinks(body: string, explorer: ExplorerSettings): string {
  const event = JSON.parse(body) as {
    readonly type: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  const { signature } = event.data;
  if (!event.type.startsWith('deposit.') || typeof signature !== 'string') return body;
  return JSON.stringify({
    ...event,
    data: { ...event.data, explorerUrl: explorerLink(signature, explorer) },
  });
}
