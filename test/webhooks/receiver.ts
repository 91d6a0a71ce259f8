import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The reaction of a receiver to its `n`-th complete request, from 1. */
export type Behaviour = (response: ServerResponse, received: Received, n: number) => unknown;

export interface Receiver {
  readonly port: number;
  readonly received: readonly Received[];
  /** Every received event, in the order of the requests. */
  types(): readonly string[];
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
}

export const answering =
  (status: number): Behaviour =>
  (response) =>
    void response.writeHead(status).end();

/** A real HTTP server on one loopback address. */
export async function startReceiver(
  behaviour: Behaviour = answering(204),
  host = '127.0.0.1',
): Promise<Receiver> {
  const received: Received[] = [];
  let behave = behaviour;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
      received.push(one);
      (async () => behave(response, one, received.length))().catch(() => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    received,
    types: () => received.map(({ body }) => (JSON.parse(body) as { type: string }).type),
    behave: (next) => {
      behave = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
