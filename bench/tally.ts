import { createServer } from 'node:http';

/** Counts by name. */
export type CallTally = Readonly<Record<string, number>>;

/** Answers every request on `port` of loopback with the present tally as JSON. */
export async function serveTally(port: number, read: () => CallTally): Promise<{ close(): void }> {
  const server = createServer((_request, response) => response.end(JSON.stringify(read())));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

export async function readTally(port: number): Promise<CallTally> {
  const answer = await fetch(`http://127.0.0.1:${port}`);
  return (await answer.json()) as CallTally;
}

/** The increase of each count from `before` to `after`. */
export function difference(before: CallTally, after: CallTally): CallTally {
  return Object.fromEntries(
    Object.entries(after)
      .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
      .filter(([, count]) => count > 0),
  );
}

export function total(tally: CallTally): number {
  return Object.values(tally).reduce((sum, count) => sum + count, 0);
}
