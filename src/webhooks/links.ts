import { type ExplorerSettings, explorerLink } from '../domain/explorer.ts';

/** Adds the explorer link to a deposit event. It depends on settings, so it is made at delivery. */
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
