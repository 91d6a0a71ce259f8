import { createServer, type ServerResponse } from 'node:http';

export interface DemoUpstream {
  readonly url: string;
  /** The Idempotency-Key (the payment id) of each request. A repeated request has the same key. */
  readonly asked: readonly string[];
  readonly answered: readonly string[];
  /** Leaves the next request without an answer and resolves with its Idempotency-Key. */
  holdNext(): Promise<string>;
  close(): Promise<void>;
}

/** Listens on a port of 127.0.0.1. Each answer is different, because it has the number of answers so far. */
export async function startUpstream(): Promise<DemoUpstream> {
  const asked: string[] = [];
  const answered: string[] = [];
  let onHeld: ((key: string) => void) | null = null;
  const server = createServer(({ headers }, response) => {
    const key = String(headers['idempotency-key'] ?? '');
    asked.push(key);
    if (onHeld === null) return answer(response, answered, key);
    onHeld(key);
    onHeld = null;
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  // Otherwise the server would keep the process running if the stack cannot start.
  server.unref();
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the upstream has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    answered,
    holdNext: () =>
      new Promise((resolve) => {
        onHeld = resolve;
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function answer(response: ServerResponse, answered: string[], key: string): void {
  answered.push(key);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ report: answered.length }));
}
